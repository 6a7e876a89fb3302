// SPDX-License-Identifier: BSD-3-Clause
// Dense systems as hierarchical matrices: DenseSystem, kernels of Python.
#include "dense.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>

#include "stretto/device/devices.hpp"
#include "stretto/hmatrix/kernels.hpp"

namespace nb = nanobind;

namespace stretto::python {

DenseOptions dense_options(const nb::dict& given) {
    static const Readers<DenseOptions> readers{
        {"precond", reads<&DenseOptions::precond>},
        {"hmatrix", reads<&DenseOptions::hmatrix>},
        {"threads", reads<&DenseOptions::threads>},
        {"columns", reads<&DenseOptions::columns>},
        {"rtol", reads<&DenseOptions::rtol>},
        {"insist", reads<&DenseOptions::insist>},
        {"device", [](DenseOptions& of, nb::handle value) { of.device = find_device(taken<std::string>(value)); }},
    };
    DenseOptions options;
    read_by_name(given, readers, options);
    return options;
}

namespace {

/// Entries by a function of Python or one that is compiled, for real ones, of the coordinates of two groups of points.
template <class T>
class Blocks {
public:
    /// `kernel`: called with (rows, dimensions) and (columns, dimensions), returns rows × columns; or the address of
    /// void(const double* x, int64 rows, const double* y, int64 columns, int64 dimensions, double* out), out row after
    /// row, which is called by several threads without Python. `nugget` is added where both are the same point.
    Blocks(std::shared_ptr<Guest> guest, nb::object kernel, std::uintptr_t address, double nugget, int dimensions,
           const std::vector<Point>& points)
        : guest_(std::move(guest)),
          kernel_(std::move(kernel)),
          compiled_(reinterpret_cast<Compiled>(address)),
          nugget_(nugget),
          dimensions_(static_cast<std::size_t>(dimensions)),
          points_(points) {}

    void operator()(std::span<const Index> rows, std::span<const Index> cols, T* out) const {
        auto x = gathered(rows), y = gathered(cols);
        std::vector<T> block(rows.size() * cols.size(), std::numeric_limits<double>::quiet_NaN());
        if (compiled_)
            compiled_(x.data(), static_cast<std::int64_t>(rows.size()), y.data(),
                      static_cast<std::int64_t>(cols.size()), static_cast<std::int64_t>(dimensions_), block.data());
        else
            guest_->run([&] { ask(x, y, rows.size(), cols.size(), block); });
        for (std::size_t j = 0; j < cols.size(); ++j)
            for (std::size_t i = 0; i < rows.size(); ++i)
                *out++ = block[i * cols.size() + j] + (rows[i] == cols[j] ? nugget_ : 0);
    }

private:
    using Compiled = void (*)(const double*, std::int64_t, const double*, std::int64_t, std::int64_t, T*);

    std::vector<double> gathered(std::span<const Index> which) const {
        std::vector<double> values;
        values.reserve(which.size() * dimensions_);
        for (const Index i : which) {
            const auto& point = points_[static_cast<std::size_t>(i)];
            values.insert(values.end(), point.begin(), point.begin() + static_cast<std::ptrdiff_t>(dimensions_));
        }
        return values;
    }

    void ask(std::vector<double>& x, std::vector<double>& y, std::size_t rows, std::size_t cols,
             std::vector<T>& block) const {
        const auto array = [&](std::vector<double>& values, std::size_t count) {
            const std::size_t shape[] = {count, dimensions_};
            const nb::ndarray<nb::numpy, double, nb::ndim<2>> view(values.data(), 2, shape, nb::handle());
            return nb::cast(view, nb::rv_policy::copy);
        };
        const nb::object answer = kernel_(array(x, rows), array(y, cols));
        const auto found = nb::cast<ColumnsOf<const T>>(answer);  // of rows × columns
        std::copy_n(found.data(), rows * cols, block.data());
    }

    std::shared_ptr<Guest> guest_;
    nb::object kernel_;
    Compiled compiled_;
    double nugget_;
    std::size_t dimensions_;
    const std::vector<Point>& points_;
};

std::unique_ptr<Dense> of_kernel(std::shared_ptr<Communicator> communicator, const Points& points,
                                 const std::string& spec, nb::object progress, const nb::dict& given) {
    return std::make_unique<Dense>(std::move(communicator), std::make_shared<Guest>(std::move(progress)),
                                   kernel_matrix(spec, points_of(points)), dense_options(given));
}

std::unique_ptr<Dense> of_blocks(std::shared_ptr<Communicator> communicator, const Points& points, int dimensions,
                                 nb::object kernel, std::uintptr_t address, double nugget, bool symmetric,
                                 bool positive_definite, bool is_complex, double error_growth, nb::object progress,
                                 const nb::dict& given) {
    auto guest = std::make_shared<Guest>(std::move(progress));
    auto matrix = std::make_unique<DenseMatrix>();
    matrix->geometry.points = points_of(points);
    matrix->symmetric = symmetric;
    matrix->positive_definite = positive_definite;
    matrix->error_growth = error_growth;
    const auto fill = [&]<class T>(T) -> FillOf<T> {
        // It is copied from thread to thread: objects of Python are not, without its lock.
        return [blocks = std::make_shared<const Blocks<T>>(guest, std::move(kernel), address, nugget, dimensions,
                                                           matrix->geometry.points)](
                   std::span<const Index> rows, std::span<const Index> cols, T* out) { (*blocks)(rows, cols, out); };
    };
    if (is_complex)
        matrix->fill = fill(std::complex<double>());
    else
        matrix->fill = fill(0.0);
    return std::make_unique<Dense>(std::move(communicator), std::move(guest), std::move(matrix), dense_options(given));
}

nb::list kernel_table() {
    nb::list list;
    for (const auto& kind : kernel_kinds()) {
        nb::dict row;
        row["name"] = std::string(kind.name);
        row["title"] = std::string(kind.help);
        row["positive_definite"] = kind.positive_definite;
        row["options"] = describe(kind.options);
        list.append(row);
    }
    return list;
}

}  // namespace

void bind_dense(nb::module_& m) {
    m.def("kernels", kernel_table);
    m.def("hmatrix_options", [] { return describe(hmatrix_options()); });

    nb::class_<Dense>(m, "Dense")
        .def_static("of_kernel", of_kernel, nb::arg("communicator"), nb::arg("points"), nb::arg("kernel"),
                    nb::arg("progress").none(), nb::arg("given"))
        .def_static("of_blocks", of_blocks, nb::arg("communicator"), nb::arg("points"), nb::arg("dimensions"),
                    nb::arg("kernel").none(), nb::arg("address"), nb::arg("nugget"), nb::arg("symmetric"),
                    nb::arg("positive_definite"), nb::arg("is_complex"), nb::arg("error_growth"),
                    nb::arg("progress").none(), nb::arg("given"))
        .def("solve", &Dense::solve, nb::arg("b"), nb::arg("x"), nb::arg("given"), nb::arg("callback").none())
        .def("multiply", &Dense::multiply)
        .def("statistics", &Dense::statistics)
        .def("blocks", &Dense::blocks)
        .def_prop_ro("rows", [](const Dense& self) { return self.system().matrix().rows(); })
        .def_prop_ro("epsilon", [](const Dense& self) { return self.system().epsilon(); })
        .def_prop_ro("precond", [](const Dense& self) { return self.system().precond(); })
        .def_prop_ro("threads", [](const Dense& self) { return self.system().threads(); })
        .def_prop_ro("order",
                     [](const Dense& self) {
                         const auto order = self.system().matrix().tree().order();
                         return std::vector<Index>(order.begin(), order.end());
                     })
        .def_prop_ro("kernel_residuals", [](const Dense& self) { return self.system().kernel_residuals(); })
        .def("remarks", [](const Dense& self, double rtol) { return self.system().remarks(rtol); });
}

}  // namespace stretto::python
