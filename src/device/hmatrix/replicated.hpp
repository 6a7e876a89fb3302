// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The layout of HACApK on devices: vectors whole on every rank, one device of it or several (Yamazaki and others 2018,
// Sections VI and VII).

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "company.hpp"
#include "deal.hpp"
#include "operator.hpp"
#include "stretto/system/device.hpp"

namespace stretto {

/// y = Σ of `count` vectors, `apart` values from one to the next, in this order.
template <class D>
struct AddVectors {
    static constexpr std::string_view name = "add up";
    const OnDevice<double, D>* from;
    std::size_t apart;
    int count;
    OnDevice<double, D>* to;
    template <class Block>
    STRETTO_KERNEL void operator()(Block& block, std::size_t i) const {
        double sum = block.at(from + i);
        for (int k = 1; k < count; ++k) sum += block.at(from + static_cast<std::size_t>(k) * apart + i);
        block.at(to + i) = sum;
    }
};

/// A hierarchical matrix for vectors that are whole on every rank, on the devices of this rank, of which each has a
/// part, an operator on vectors there: of all rows or, where they share them, of its own. Each is called by a thread of
/// its own, which speaks to that device, and all of them at the same places.
///
/// A product: x is brought together from the devices that share it; each multiplies its blocks; the sums of all are
/// added up, by each device for a slice of this rank's rows; the slices go to the host and, by an all-gather between
/// the hosts, to the others; what comes goes to one device each, and from there to the others. Devices have each
/// other's numbers directly, in the order that events say: the host waits for devices before messages and for dot
/// products alone.
template <class D>
class DeviceReplicated {
public:
    using T = OnDevice<double, D>;
    class Part;

    DeviceReplicated(const HMatrix& A, const DenseLayout& layout, const std::atomic<bool>* interrupt = nullptr)
        : A_(A),
          layout_(layout),
          company_(layout.devices),
          shares_(shares_of(A.tree(), layout.devices)),
          slices_(alone() ? shares_ : Partition::even(A.local_rows(), layout.devices)),
          raised_(interrupt),
          flags_(static_cast<std::size_t>(A.comm().size())) {
        for (auto& board : board_) board.resize(static_cast<std::size_t>(layout.devices));
        if (layout.devices > 1) dealt_ = deal_panels(A.steps(), layout.devices);
        for (int k = 0; k < layout.devices; ++k) {
            const OnDeviceOf<D> at({k, layout.devices});
            parts_.push_back(std::make_unique<Part>(*this, k));
        }
        dealt_.clear();
    }

    Company& company() { return company_; }
    Part& part(int k) { return *parts_[static_cast<std::size_t>(k)]; }
    /// Has all ranks and devices interrupted, as `interrupt` does.
    void stop() { stop_ = true; }
    bool stopping() const { return stop_; }
    /// For the next solve, however the last one ended.
    void restart() {
        stop_ = false;
        std::ranges::fill(flags_, 0.0);
        gather_ = {};
        for (auto& part : parts_) part->restart();
    }
    bool shared() const { return layout_.shared && company_.size() > 1; }
    /// The first of the rows that a part has.
    Index first(int k) const { return shared() ? static_cast<Index>(shares_.first(k)) : 0; }

private:
    bool alone() const { return A_.comm().size() == 1; }
    /// Rows that are neighbours, cut where leaves are, about as many for each.
    static Partition shares_of(const ClusterTree& tree, int count) {
        std::vector<Global> ends, first{0};
        for (const Cluster& cluster : tree.clusters())
            if (cluster.leaf()) ends.push_back(cluster.end);
        std::ranges::sort(ends);
        for (int k = 1; k < count; ++k)
            first.push_back(std::max(first.back(), *std::ranges::lower_bound(ends, Global{tree.size()} * k / count)));
        first.push_back(tree.size());
        return Partition(first);
    }

    const HMatrix& A_;
    DenseLayout layout_;
    Company company_;
    Partition shares_, slices_;  // of all rows, of this rank's
    const std::atomic<bool>* raised_;
    std::atomic<bool> stop_{false};
    std::vector<double> flags_;  // of all ranks, come with the last product
    CompanyComm::Board board_;
    /// All rows of y, on the host: by turns, as those of the last product may still be on their way to devices.
    std::array<PinnedArray<double, D>, 2> landings_;
    Pending gather_;
    std::vector<DealtPanels> dealt_;
    std::vector<std::unique_ptr<Part>> parts_;
};

template <class D>
class DeviceReplicated<D>::Part {
public:
    Part(DeviceReplicated& all, int number)
        : all_(all),
          number_(number),
          comm_(all.company_, all.board_, number, all.shared(), all.first(number)),
          A_(several() ? DeviceHMatrix<D>(all.A_, all.dealt_[static_cast<std::size_t>(number)].steps, false)
                       : DeviceHMatrix<D>(all.A_)),
          arrival_(*this) {}

    Comm& comm() { return comm_; }
    void restart() {
        comm_.restart();
        offered_ = landed_ = 0;
        interrupted_ = false;
    }
    Index local_rows() const { return all_.shared() ? all_.shares_.rows(number_) : static_cast<Index>(all_.A_.rows()); }
    double bytes(int columns) const { return A_.bytes(columns); }
    /// Raised by a product on all ranks and devices alike.
    const std::atomic<bool>& interrupted() const { return interrupted_; }

    void apply(MultiVector<T> x, MultiVector<T> y) const { start_apply(x, y).wait(); }
    /// What the layout hides may be in flight; it must have been waited for before the next product.
    [[nodiscard]] Pending start_apply(MultiVector<T> x, MultiVector<T> y) const {
        if (std::ranges::any_of(all_.flags_, [](double flag) { return flag > 0; })) interrupted_ = true;
        Buffers& own = buffers(x.columns());
        must(all_.company_.meet());  // all have seen the flags
        if (number_ == 0) {
            std::ranges::fill(all_.flags_, 0.0);
            all_.flags_[static_cast<std::size_t>(all_.A_.comm().rank())] =
                all_.stop_ || (all_.raised_ && *all_.raised_);
        }
        const MultiVector<T> whole = bring_together(x, own);
        if (!several()) {
            const auto mine = rows_of_rank(y);
            A_.multiply_whole(whole, mine.data());
            if (all_.alone()) return {};
            return start_gather(mine.data(), y);
        }
        A_.multiply_whole(whole, own.sums.data());
        add_slices(own, x.columns());
        if (!all_.alone()) return start_gather(own.slice.data(), y);
        if (all_.shared())
            for_each_on_device<D>(y.size(), CopyElement<double, D>{own.slice.data(), y.data(), 1});
        else
            must(spread(own.slice.data(), all_.slices_, y));
        return {};
    }
    bool has_transpose() const { return !several(); }
    void apply_transpose(MultiVector<T> x, MultiVector<T> y) const {
        A_.apply_transpose(rows_of_rank(x), rows_of_rank(y));
        if (all_.alone()) return;
        buffers(x.columns());
        start_gather(rows_of_rank(y).data(), y).wait();
    }

private:
    /// For so many columns.
    struct Buffers {
        int columns;
        DeviceArray<double, D> x, sums, slices, slice, piece;
    };
    /// What comes from others goes on to the devices when it is waited for.
    class Arrival final : public Comm {
    public:
        explicit Arrival(const Part& part) : Comm(MPI_COMM_SELF), part_(part) {}
        Pending start_sum(std::span<const double>, std::span<double>) override { return {}; }
        std::optional<MultiVector<T>> y;

    private:
        Pending post_exchange(std::span<const Message>, std::span<const Message>) override { return {}; }
        std::optional<Clock::time_point> finish(int) override { return part_.finish(*y); }
        const Part& part_;
    };

    bool several() const { return all_.company_.size() > 1; }
    static std::size_t values(Index rows, int columns) {
        return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    }
    MultiVector<T> rows_of_rank(MultiVector<T> whole) const {
        const auto& partition = all_.A_.partition();
        const int rank = all_.A_.comm().rank();
        return {whole.data() + values(static_cast<Index>(partition.first(rank)), whole.columns()), partition.rows(rank),
                whole.columns()};
    }
    Buffers& buffers(int columns) const {
        return buffers_.at(columns, [&] {
            Buffers own{columns, {}, {}, {}, {}, {}};
            const Index rows = static_cast<Index>(all_.A_.rows()), slice = all_.slices_.rows(number_);
            if (all_.shared()) own.x = DeviceArray<double, D>(values(rows, columns));
            if (several()) {
                own.sums = DeviceArray<double, D>(values(all_.A_.local_rows(), columns));
                own.slices =
                    DeviceArray<double, D>(values(slice, columns) * static_cast<std::size_t>(all_.company_.size()));
                own.slice = DeviceArray<double, D>(values(slice, columns));
                own.piece = DeviceArray<double, D>(values(all_.shares_.rows(number_), columns));
            }
            if (number_ == 0 && !all_.alone())
                for (auto& landing : all_.landings_)
                    if (landing.size() < values(rows, columns)) landing = PinnedArray<double, D>(values(rows, columns));
            return own;
        });
    }
    /// A rank has failed where another of its devices has.
    static void must(bool met) {
        if (!met) throw std::runtime_error("another device of this rank failed");
    }

    /// What a device has for the others, and the event behind which it is there. By turns: while some still read what
    /// was offered last, others may offer the next.
    struct Offer {
        typename D::Event there;
        const T* data = nullptr;
    };
    [[nodiscard]] bool offer(const T* data) const {
        Offer& next = offers_[++offered_ % 2];
        D::mark(next.there);
        next.data = data;
        return all_.company_.meet();
    }
    /// The offers of the others, the next one's first.
    template <class Work>
    void each_other(Work&& work) const {
        for (int d = 1; d < all_.company_.size(); ++d) {
            const int k = (number_ + d) % all_.company_.size();
            const Offer& theirs = all_.parts_[static_cast<std::size_t>(k)]->offers_[offered_ % 2];
            D::after(theirs.there);
            work(k, theirs.data);
        }
    }
    /// All rows of x.
    MultiVector<T> bring_together(MultiVector<T> x, Buffers& own) const {
        if (!all_.shared()) return x;
        const MultiVector<T> whole(own.x.data(), static_cast<Index>(all_.A_.rows()), x.columns());
        must(spread(x.data(), all_.shares_, whole));
        return whole;
    }
    /// Every device has some rows of a vector, from `mine` on; all get all.
    [[nodiscard]] bool spread(const T* mine, const Partition& rows, MultiVector<T> whole) const {
        const auto place = [&](int k) {
            return whole.data() + values(static_cast<Index>(rows.first(k)), whole.columns());
        };
        const auto size = [&](int k) { return values(rows.rows(k), whole.columns()); };
        if (!offer(mine)) return false;
        for_each_on_device<D>(size(number_), CopyElement<double, D>{mine, place(number_), 1});
        each_other([&](int k, const T* theirs) { D::fetch(place(k), theirs, size(k) * sizeof(double)); });
        return true;
    }
    /// This device's slice of the sum of all devices' products.
    void add_slices(Buffers& own, int columns) const {
        const std::size_t size = own.slice.size(),
                          before = values(static_cast<Index>(all_.slices_.first(number_)), columns);
        const auto place = [&](int k) { return own.slices.data() + static_cast<std::size_t>(k) * size; };
        must(offer(own.sums.data()));
        for_each_on_device<D>(size, CopyElement<double, D>{own.sums.data() + before, place(number_), 1});
        each_other([&](int k, const T* theirs) { D::fetch(place(k), theirs + before, size * sizeof(double)); });
        for_each_on_device<D>(size, AddVectors<D>{own.slices.data(), size, all_.company_.size(), own.slice.data()});
    }

    /// The slice of this rank's rows that is at `mine` goes to the host, and to the other ranks.
    Pending start_gather(const T* mine, MultiVector<T> y) const {
        const auto first = static_cast<Index>(all_.A_.partition().first(all_.A_.comm().rank())),
                   slice = static_cast<Index>(all_.slices_.first(number_));
        ++landed_;
        D::bring(mine, landing(first + slice, y.columns()),
                 values(all_.slices_.rows(number_), y.columns()) * sizeof(double), brought_);
        arrival_.y = y;
        posted_ = false;
        if (all_.layout_.hiding == Hiding::gather) must(post(y.columns()));
        Pending pending(arrival_, 0);
        if (all_.layout_.hiding == Hiding::nothing) pending.wait();
        return pending;
    }
    double* landing(Index row, int columns) const { return all_.landings_[landed_ % 2].data() + values(row, columns); }
    /// When the slices of all devices have come, their first thread speaks to the other hosts.
    [[nodiscard]] bool post(int columns) const {
        brought_.wait();
        if (!all_.company_.meet()) return false;
        const auto rows = static_cast<Index>(all_.A_.rows());
        if (number_ == 0) all_.gather_ = all_.A_.start_gather({landing(0, columns), rows, columns}, all_.flags_);
        posted_ = true;
        return true;
    }
    /// Throws nothing where another device has failed: the next product does.
    std::optional<Clock::time_point> finish(MultiVector<T> y) const {
        const int columns = y.columns();
        if (!posted_ && !post(columns)) return {};
        const auto came = number_ == 0 ? all_.gather_.wait() : std::nullopt;
        if (!all_.company_.meet()) return {};
        if (!several()) {
            const MultiVector<T> mine = rows_of_rank(y);
            const auto before = static_cast<std::size_t>(mine.data() - y.data()), after = before + mine.size();
            D::send(y.data(), landing(0, columns), before * sizeof(double));
            D::send(y.data() + after, landing(0, columns) + after, (y.size() - after) * sizeof(double));
            return came;
        }
        const double* const share = landing(static_cast<Index>(all_.shares_.first(number_)), columns);
        const std::size_t size = values(all_.shares_.rows(number_), columns);
        if (all_.shared()) {
            D::send(y.data(), share, size * sizeof(double));
        } else {
            T* const piece = buffers(columns).piece.data();
            D::send(piece, share, size * sizeof(double));
            (void)spread(piece, all_.shares_, y);
        }
        return came;
    }

    DeviceReplicated& all_;
    int number_;
    CompanyComm comm_;
    DeviceHMatrix<D> A_;
    Scratch<Buffers> buffers_;
    mutable std::array<Offer, 2> offers_;
    mutable typename D::Event brought_;
    mutable unsigned offered_ = 0, landed_ = 0;
    mutable bool posted_ = false;
    mutable Arrival arrival_;
    mutable std::atomic<bool> interrupted_{false};
};

}  // namespace stretto
