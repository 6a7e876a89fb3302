// SPDX-License-Identifier: BSD-3-Clause
// Operators that are functions of Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <limits>

#include "solve.hpp"

namespace nb = nanobind;

namespace stretto::python {
namespace {

/// y = f(x), both rows × columns.
template <class T>
class Function {
public:
    /// `collective`: what processes do together, so that none leaves it out.
    Function(Guest& guest, nb::object apply, nb::object transpose, Index rows, bool collective = false)
        : guest_(guest),
          apply_(std::move(apply)),
          transpose_(std::move(transpose)),
          rows_(rows),
          collective_(collective) {}

    void apply(MultiVector<T> x, MultiVector<T> y) const { call(apply_, x, y); }
    void apply_transpose(MultiVector<T> x, MultiVector<T> y) const { call(transpose_, x, y); }
    bool has_transpose() const { return !transpose_.is_none(); }
    double bytes(int) const { return 0; }
    Index local_rows() const { return rows_; }

private:
    void call(const nb::object& function, MultiVector<T> x, MultiVector<T> y) const {
        const std::size_t shape[] = {static_cast<std::size_t>(x.rows()), static_cast<std::size_t>(x.columns())};
        const auto work = [&] {
            const nb::ndarray<nb::numpy, T, nb::ndim<2>> in(x.data(), 2, shape, nb::handle()),
                out(y.data(), 2, shape, nb::handle());
            function(nb::cast(in, nb::rv_policy::reference), nb::cast(out, nb::rv_policy::reference));
        };
        if (!guest_.run(work, collective_))
            std::fill_n(y.data(), shape[0] * shape[1], std::numeric_limits<double>::quiet_NaN());
    }

    Guest& guest_;
    nb::object apply_, transpose_;
    Index rows_;
    bool collective_;
};

/// `A`, `M`: functions (x, y) that write into y, and their transposes, of complex numbers their adjoints; none: the
/// identity, or not there. `A_together`, `M_together`: they are of the library, and all processes apply them together.
template <class T>
std::unique_ptr<Outcome> solve_operator(const std::shared_ptr<Communicator>& communicator, nb::object A,
                                        nb::object A_transpose, nb::object M, nb::object M_transpose,
                                        const ColumnsOf<const T>& b, const ColumnsOf<T>& x, const nb::dict& given,
                                        nb::object callback, bool A_together, bool M_together) {
    Guest guest(std::move(callback));
    const auto rows = static_cast<Index>(b.shape(0));
    const SolveOptions options = guest.invited(solve_options(given), communicator->comm(), rows);
    const bool preconditioned = !M.is_none();
    if (options.checkpoint) options.checkpoint->precond = preconditioned ? "function" : "none";
    const Function<T> of_A(guest, std::move(A), std::move(A_transpose), rows, A_together);
    const Function<T> of_M(guest, std::move(M), std::move(M_transpose), rows, M_together);
    std::unique_ptr<Outcome> outcome;
    {
        const nb::gil_scoped_release unlocked;
        Comm& comm = communicator->comm();
        auto result = solve<T>(comm, AnyOperator<T>(of_A), preconditioned ? AnyOperator<T>(of_M) : AnyOperator<T>(),
                               view(b), view(x), options);
        RunInfo info;
        info.scalar = is_complex<T> ? "complex" : "real";
        info.method = options.method;
        info.columns = static_cast<int>(b.shape(1));
        info.rows = rows;
        info.rtol = options.rtol;
        info.atol = options.atol;
        info.max_iterations = options.max_iterations;
        outcome = std::make_unique<Outcome>(
            communicator, options.method, [info = std::move(info)] { return info; }, std::move(result),
            guest.timeline());
    }
    guest.leave();
    return outcome;
}

template <class T>
void bind_solve(nb::module_& m) {
    m.def("solve_operator", solve_operator<T>, nb::arg("communicator"), nb::arg("A"), nb::arg("A_transpose").none(),
          nb::arg("M").none(), nb::arg("M_transpose").none(), nb::arg("b").noconvert(), nb::arg("x").noconvert(),
          nb::arg("given"), nb::arg("callback").none(), nb::arg("A_together"), nb::arg("M_together"));
}

}  // namespace

void bind_operators(nb::module_& m) {
    bind_solve<double>(m);
#if STRETTO_COMPLEX
    bind_solve<std::complex<double>>(m);
#endif
}

}  // namespace stretto::python
