// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>
#include <string>

namespace stretto {

/// Bad usage or bad input data: the message names what is wrong and where. The command line prints it on
/// standard error and exits with 2. Numerical failure is never an exception; it is a status of the result.
class InputError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace stretto
