// Calls a kernel with what its parameters' attributes name. Included after the kernel.

#undef kernel
#undef device
#undef thread
#undef threadgroup
#undef constant

struct metal_bound { void *at; };
struct metal_seen { metal_image *image; };

template <class P> struct metal_bind;
template <class P> struct metal_bind<P *> { static P *get(metal_bound b) { return (P *)b.at; } };
template <class P> struct metal_bind<P &> { static P &get(metal_bound b) { return *(P *)b.at; } };
template <class T, metal::access A> struct metal_bind<metal::texture2d<T, A>> {
  static metal::texture2d<T, A> get(metal_seen s) { metal::texture2d<T, A> t; t.image = s.image; return t; }
};
template <class T, metal::access A> struct metal_bind<metal::texture3d<T, A>> {
  static metal::texture3d<T, A> get(metal_seen s) { metal::texture3d<T, A> t; t.image = s.image; return t; }
};
template <metal::Scalar P> struct metal_bind<P> {
  static P get(unsigned x) { return P(x); }
  static P get(const unsigned *x) { return P(x[0]); }
};
template <metal::Vector P> struct metal_bind<P> {
  static P get(const unsigned *x) { P p; for (int i = 0; i < metal::width<P>; i++) p[i] = x[i]; return p; }
};

template <class... P, class... S> void metal_call(void (*f)(P...), S... s) { f(metal_bind<P>::get(s)...); }
