// expect: this scalar is not built in
#include "stretto/driver/solver.hpp"

stretto::Result solve_floats(stretto::Comm& comm, stretto::MultiVector<float> b, stretto::MultiVector<float> x) {
    return stretto::solve<float>(comm, stretto::Identity{}, stretto::Identity{}, b, x);
}
