// SPDX-License-Identifier: BSD-3-Clause
#include <iostream>

#include "stretto/core/instruction_set.hpp"

int main() { std::cout << stretto::instruction_set() << "\n"; }
