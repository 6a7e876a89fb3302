// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <numeric>

#include "stretto/comm/collective.hpp"
#include "stretto/comm/messages.hpp"
#include "stretto/core/random.hpp"

namespace stretto {
namespace {

TEST(Messages, CoverTheBytesInOrder) {
    std::vector<char> bytes(23);
    for (const std::size_t largest : {1, 7, 22, 23, 24}) {
        std::vector<std::size_t> sizes;
        const char* next = bytes.data();
        each_message(
            std::span(bytes),
            [&](std::span<char> piece) {
                EXPECT_EQ(piece.data(), next);
                next += piece.size();
                sizes.push_back(piece.size());
            },
            largest);
        EXPECT_EQ(next, bytes.data() + bytes.size());
        EXPECT_EQ(sizes.size(), (bytes.size() + largest - 1) / largest);
        for (const std::size_t size : sizes) EXPECT_LE(size, largest);
    }
    each_message(std::span<char>(), [](std::span<char>) { ADD_FAILURE() << "a message without bytes"; });
}

std::string text_of(int rank) {
    std::string text(static_cast<std::size_t>(5 + 31 * rank), '\0');
    for (std::size_t k = 0; k < text.size(); ++k)
        text[k] = static_cast<char>('a' + (k * 7 + static_cast<std::size_t>(rank)) % 26);
    return text;
}

// A limit that cuts values in two.
TEST(Messages, AllToAllInSmallMessages) {
    MpiComm comm;
    const auto values = [&](int from, int to) {
        std::vector<double> result(static_cast<std::size_t>((3 * from + 5 * to) % 11));
        for (std::size_t k = 0; k < result.size(); ++k) result[k] = uniform(from, to, static_cast<Global>(k));
        return result;
    };
    std::vector<std::vector<double>> to_rank;
    for (int p = 0; p < comm.size(); ++p) to_rank.push_back(values(comm.rank(), p));
    for (const std::size_t largest : {std::size_t{1}, std::size_t{13}, std::size_t{24}, largest_message}) {
        const auto from_rank = all_to_all(comm, to_rank, largest);
        for (int p = 0; p < comm.size(); ++p)
            EXPECT_EQ(from_rank[static_cast<std::size_t>(p)], values(p, comm.rank())) << "at most " << largest;
    }
}

TEST(Messages, TextsInSmallMessages) {
    MpiComm comm;
    constexpr int tag = 3;
    for (const std::size_t largest : {std::size_t{1}, std::size_t{10}, largest_message}) {
        for (int root = 0; root < comm.size(); ++root)
            EXPECT_EQ(broadcast(comm, text_of(comm.rank()), root, largest), text_of(root));
        for (int from = 1; from < comm.size(); ++from) {
            if (comm.rank() == from) send_text(comm, from == 2 ? "" : text_of(from), 0, tag, largest);
            if (comm.rank() != 0) continue;
            EXPECT_EQ(receive_text(comm, from, tag, largest), from == 2 ? "" : text_of(from));
        }
    }
}

}  // namespace
}  // namespace stretto
