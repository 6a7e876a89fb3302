// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/core/instruction_set.hpp"

namespace stretto {

std::string_view instruction_set() {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
    return "avx512";
#elif defined(__AVX2__) && defined(__FMA__)
    return "avx2";
#else
    return "portable";
#endif
}

}  // namespace stretto
