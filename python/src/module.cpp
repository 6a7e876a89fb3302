// SPDX-License-Identifier: BSD-3-Clause
// stretto._core: what of the library Python stands on. Its types are those of C++; how they feel is up to the package.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "solve.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/core/error.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/io/checkpoint_file.hpp"
#include "stretto/io/complex_problem.hpp"
#include "stretto/io/problem.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/system/checkpoint_identity.hpp"

namespace nb = nanobind;

namespace stretto::python {

nb::list describe(std::span<const OptionInfo> options) {
    nb::list list;
    for (const auto& option : options) {
        nb::dict row;
        row["name"] = std::string(option.name);
        row["default"] = option.default_value;
        row["minimum"] = option.minimum;
        row["maximum"] = option.maximum;
        row["integral"] = option.integral;
        row["help"] = std::string(option.help);
        nb::list words;
        for (const auto choice : option.choices) words.append(std::string(choice));
        row["choices"] = words;
        list.append(row);
    }
    return list;
}

namespace {

/// Collective. Method, preconditioner and preparation of the solve that a checkpoint is of.
std::tuple<std::string, std::string, std::string> of_checkpoint(Communicator& communicator, const std::string& file) {
    const auto kept = read_checkpoint_header(communicator.comm(), file);
    const auto of = identified(kept.precond);
    return {kept.method, of.precond, of.prepare};
}

nb::list method_table() {
    nb::list list;
    for (const Method* method : methods()) {
        nb::dict row;
        row["name"] = std::string(method->name);
        row["title"] = std::string(method->title);
        row["source"] = std::string(method->source);
        row["needs"] = std::string(name(method->needs));
        row["transpose"] = method->transpose;
        row["options"] = describe(method->options);
        list.append(row);
    }
    return list;
}

nb::list preconditioner_table() {
    nb::list list;
    for (const auto& kind : preconditioners()) {
        if (!kind.takes(MatrixKind::sparse)) continue;
        nb::dict row;
        row["name"] = std::string(kind.name);
        row["title"] = std::string(kind.title);
        row["source"] = std::string(kind.source);
        row["options"] = describe(kind.options);
        list.append(row);
    }
    return list;
}

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> array_of(std::vector<T> values) {
    auto* const kept = new std::vector<T>(std::move(values));
    const nb::capsule owner(kept, [](void* data) noexcept { delete static_cast<std::vector<T>*>(data); });
    return {kept->data(), {kept->size()}, owner};
}

/// What the command line would have typed, as arguments.
std::string in_python(std::string text) {
    static const std::pair<std::regex, const char*> rules[] = {
        {std::regex("--insist\\b"), "insist=True"},
        {std::regex("--hmatrix (\\w+=[^\\s;,)]+)"), "$1"},
        {std::regex("--null-space ('[^']*'|\\w+)"), "null_space=$1"},
        {std::regex("--(device|execution|precond|prepare|method) ([a-z][\\w:=.-]*\\w)"), "$1='$2'"},
        {std::regex("--(threads|device|execution|precond|prepare|method|rtol|columns)\\b"), "$1="},
        {std::regex("--max-it\\b"), "maxiter="},
    };
    for (const auto& [words, arguments] : rules) text = std::regex_replace(text, words, arguments);
    return text;
}

/// This rank's rows of a problem or a file: start, columns, values, and how many rows there are in all.
template <class T>
nb::tuple arrays_of(DistributedRowsOf<T> matrix) {
    auto& [partition, rows] = matrix;
    return nb::make_tuple(array_of(std::move(rows.start)), array_of(std::move(rows.columns)),
                          array_of(std::move(rows.values)), partition.rows());
}

nb::tuple problem_rows(Communicator& communicator, const std::string& name) {
    const Comm& comm = communicator.comm();
#if STRETTO_COMPLEX
    const std::string file = is_complex_problem(name) ? "" : file_of_problem(name);
    std::error_code error;
    const bool there = comm.rank() == 0 && !file.empty() && std::filesystem::is_regular_file(file, error);
    if (is_complex_problem(name) || (any_of(comm, there) && holds_complex(comm, file)))
        return arrays_of(load_complex_problem(comm, name));
#endif
    return arrays_of(load_problem(comm, name));
}

}  // namespace

void bind_tables(nb::module_& m) {
    const nb::exception<InputError> input_error(m, "InputError", PyExc_ValueError);
    nb::register_exception_translator(
        [](const std::exception_ptr& thrown, void* type) {
            try {
                std::rethrow_exception(thrown);
            } catch (const InputError& error) {
                PyErr_SetString(static_cast<PyObject*>(type), in_python(error.what()).c_str());
            }
        },
        input_error.ptr());
    m.def("version", [] { return std::string(version()); });
    m.def("methods", method_table);
    m.def("preconditioners", preconditioner_table);
    m.def("problem_rows", problem_rows);
    m.def("of_checkpoint", of_checkpoint);
    m.def("default_threads", [](Communicator& communicator) { return default_threads(communicator.comm()); });
}

}  // namespace stretto::python

NB_MODULE(_core, m) {
    using namespace stretto::python;
    nb::set_leak_warnings(false);  // a traceback that is kept to the end keeps what it saw
    bind_tables(m);
    bind_communicator(m);
    bind_systems(m);
    bind_vectors(m);
    bind_operators(m);
    bind_dense(m);
    bind_complex(m);
    bind_bem(m);
}
