//! `#[derive(Value)]`: a structure of values is a value, laid out as the kernels' structures are.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, LitInt, Member, Type, spanned::Spanned};

/// Implements `luisac_runtime::Value` for a structure whose fields are values: members in order, each at its own alignment, the
/// whole at the largest of them. `#[luisac(align = 16)]` asks for more, as the kernel's structure may.
///
/// How Rust lays the structure out is of no account.
#[proc_macro_derive(Value, attributes(luisac))]
pub fn derive_value(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(|e| e.to_compile_error()).into()
}

fn expand(input: &DeriveInput) -> Result<TokenStream, Error> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.span(), "only structures have a memory form in kernels"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new(input.generics.span(), "the layout must be known: no parameters"));
    }
    let align = alignment(input)?;
    let types: Vec<&Type> = data.fields.iter().map(|f| &f.ty).collect();
    let members: Vec<Member> = data.fields.members().collect();
    let places = 0..types.len();
    let places: Vec<usize> = places.collect();
    let name = &input.ident;
    let build = match &data.fields {
        Fields::Unit => quote!(Self),
        _ => quote!(Self { #(#members: load::<#types>(bytes, LAYOUT.offsets[#places])),* }),
    };
    Ok(quote! {
        const _: () = {
            use ::luisac_runtime::{Value, layout::{Layout, load, store}};
            const LAYOUT: Layout<{ 0 #(+ { let _ = #places; 1 })* }> =
                Layout::new([#((<#types as Value>::SIZE, <#types as Value>::ALIGN)),*], #align);

            impl Value for #name {
                const SIZE: usize = LAYOUT.size;
                const ALIGN: usize = LAYOUT.align;

                fn describe(out: &mut ::std::string::String) {
                    out.push_str(&::std::format!("struct<{}", LAYOUT.align));
                    #(out.push(','); <#types as Value>::describe(out);)*
                    out.push('>');
                }

                fn store(self, bytes: &mut [u8]) {
                    #(store(self.#members, bytes, LAYOUT.offsets[#places]);)*
                }

                fn load(bytes: &[u8]) -> Self {
                    #build
                }
            }
        };
    })
}

/// What `#[luisac(align = N)]` says; 1 if it says nothing.
fn alignment(input: &DeriveInput) -> Result<usize, Error> {
    let mut align = 1;
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("luisac")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("align") {
                return Err(meta.error("expected `align = N`"));
            }
            let number: LitInt = meta.value()?.parse()?;
            align = number.base10_parse()?;
            if ![1, 2, 4, 8, 16].contains(&align) {
                return Err(Error::new(number.span(), "an alignment is 1, 2, 4, 8 or 16"));
            }
            Ok(())
        })?;
    }
    Ok(align)
}
