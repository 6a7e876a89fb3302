// expect: this scalar is not built in
#include <complex>

#include "stretto/driver/solver.hpp"

using Value = std::complex<long double>;

stretto::Result solve_them(stretto::Comm& comm, stretto::MultiVector<Value> b, stretto::MultiVector<Value> x) {
    return stretto::solve<Value>(comm, stretto::Identity{}, stretto::Identity{}, b, x);
}
