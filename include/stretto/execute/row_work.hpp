// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "stretto/core/types.hpp"

namespace stretto {

/// What is to be done with rows of a product as soon as they are there, while they are in cache: work(part, begin,
/// end), on the thread of that part. Refers to a callable, does not keep it.
class RowWork {
public:
    template <class Work>
    explicit RowWork(const Work& work)
        : work_(&work), call_([](const void* of, int part, Index begin, Index end) {
              (*static_cast<const Work*>(of))(part, begin, end);
          }) {}
    void operator()(int part, Index begin, Index end) const { call_(work_, part, begin, end); }

private:
    const void* work_;
    void (*call_)(const void*, int, Index, Index);
};

/// The rows that a part of a product has finished, handed on in stretches that a cache holds.
class FinishedRows {
public:
    FinishedRows(const RowWork* work, int part, int columns)
        : work_(work), part_(part), stretch_(std::max(1, elements / columns)) {}
    FinishedRows(const FinishedRows&) = delete;
    ~FinishedRows() { hand_on(); }

    void operator()(Index begin, Index end) {
        if (!work_) return;
        if (begin != end_) {
            hand_on();
            begin_ = begin;
        }
        end_ = end;
        if (end_ - begin_ >= stretch_) hand_on();
    }

private:
    static constexpr int elements = 1024;

    void hand_on() {
        if (work_ && begin_ < end_) (*work_)(part_, begin_, end_);
        begin_ = end_;
    }

    const RowWork* work_;
    int part_;
    Index stretch_;
    Index begin_ = 0, end_ = 0;
};

}  // namespace stretto
