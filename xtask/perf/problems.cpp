// Writes the problems of the performance corpus as files that `luisac run` takes: NAME.txt with a line for the
// dispatch, the tolerance and each argument, and NAME.K.npy with the words of buffer K before the run.
//   problems FOLDER NAME... [--tiny]
#include <fstream>
#include <iostream>

#include "problems.h"

using namespace perf;

static void write_npy(const std::string &path, const Argument &a) {
    std::vector<uint32_t> words = a.data;
    words.resize(a.words);
    std::string header = std::string{"{'descr': '<"} + (a.type == 'f' ? "f4" : "u4") + "', 'fortran_order': False, 'shape': (" +
                         std::to_string(words.size()) + ",), }";
    while ((10 + header.size() + 1) % 64 != 0) header += ' ';
    header += '\n';
    std::ofstream file(path, std::ios::binary);
    const char magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, char(header.size() & 255), char(header.size() >> 8)};
    file.write(magic, sizeof magic);
    file << header;
    file.write(reinterpret_cast<const char *>(words.data()), std::streamsize(words.size() * 4));
    if (!file) std::cerr << "cannot write " << path << '\n', std::exit(1);
}

int main(int argc, char **argv) {
    std::vector<std::string> names;
    Size size = Size::cpu;
    for (int i = 2; i < argc; i++) {
        if (std::string(argv[i]) == "--tiny") size = Size::tiny;
        else names.push_back(argv[i]);
    }
    if (argc < 2) return std::cerr << "usage: problems FOLDER NAME... [--tiny]\n", 2;
    for (auto &name : names.empty() ? perf::names() : names) {
        Problem p = make(name, size);
        std::string base = std::string(argv[1]) + "/" + name;
        std::ofstream text(base + ".txt");
        text << "dispatch " << p.dispatch[0] << ',' << p.dispatch[1] << ',' << p.dispatch[2] << '\n';
        text << "tolerance " << p.tolerance << ' ' << p.allowed << '\n';
        for (size_t k = 0; k < p.arguments.size(); k++) {
            const Argument &a = p.arguments[k];
            if (a.is_buffer()) {
                write_npy(base + "." + std::to_string(k) + ".npy", a);
                text << (a.is_result() ? "result " : "input ") << k << ' ' << a.type << '\n';
                continue;
            }
            float f;
            std::memcpy(&f, &a.data[0], 4);
            text.precision(9);
            text << "scalar " << k << ' ';
            if (a.type == 'f') text << f << '\n';
            else text << a.data[0] << '\n';
        }
    }
}
