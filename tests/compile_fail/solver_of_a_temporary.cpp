// expect: deleted function
#include "stretto/system/linear_system.hpp"

stretto::SystemSolver dangling(stretto::Comm& comm) {
    return stretto::LinearSystem::load(comm, "poisson2d:9").solver();
}
