// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "gathered_comm.hpp"
#include "layout.hpp"
#include "simulated_system.hpp"
#include "stretto/operators/preconditioner.hpp"
#include "stretto/sparse/csr.hpp"

/// A matrix whose rows this process has all, and which costs every rank of the machine what its rows would.
class GatheredMatrix {
public:
    /// `comm` and `matrix` must outlive it. For vectors of so many columns.
    GatheredMatrix(GatheredComm& comm, const stretto::CsrMatrix<double>& matrix, const stretto::Partition& partition,
                   const stretto::LocalRows<double>& rows, int columns);

    void apply(stretto::MultiVector<double> x, stretto::MultiVector<double> y) const {
        work([&] { matrix_.apply(x, y); });
    }
    void apply(stretto::MultiVector<double> x, stretto::MultiVector<double> y, const stretto::RowWork& rows) const {
        work([&] { matrix_.apply(x, y, rows); });
    }
    void apply_transpose(stretto::MultiVector<double> x, stretto::MultiVector<double> y) const;
    int parts() const { return matrix_.parts(); }
    double bytes(int columns) const { return matrix_.bytes(columns); }
    stretto::Index local_rows() const { return matrix_.local_rows(); }

    /// What its part takes on a rank, and where that rank's messages go to and come from: the most of all.
    double stored(int rank) const { return stored_[static_cast<std::size_t>(rank)]; }
    int neighbours() const { return neighbours_; }

private:
    template <class Product>
    void work(Product&& product) const {
        comm_.prepare(halo_);
        auto arriving = comm_.start_exchange({}, {});
        comm_.charge_each(interior_);
        product();
        arriving.wait();
        comm_.charge_each(interface_);
    }

    GatheredComm& comm_;
    const stretto::CsrMatrix<double>& matrix_;
    GatheredComm::Exchange halo_, way_back_;
    std::vector<double> interior_, interface_, transposed_, stored_;  // bytes, by rank
    int neighbours_ = 0;
};

/// The same of a preconditioner that knows no ranks.
class GatheredPreconditioner {
public:
    GatheredPreconditioner(GatheredComm& comm, const stretto::Preconditioner& inner) : comm_(comm), inner_(inner) {}

    void apply(stretto::MultiVector<double> r, stretto::MultiVector<double> z) const {
        comm_.charge(bytes(r.columns()));
        inner_.apply(r, z);
    }
    void apply(stretto::MultiVector<double> r, stretto::MultiVector<double> z, const stretto::RowWork& work) const {
        comm_.charge(bytes(r.columns()));
        inner_.apply(r, z, work);
    }
    int parts() const { return inner_.parts(); }
    double bytes(int columns) const { return inner_.bytes(columns); }
    void apply_transpose(stretto::MultiVector<double> r, stretto::MultiVector<double> z) const {
        comm_.charge(bytes(r.columns()));
        inner_.apply_transpose(r, z);
    }

private:
    GatheredComm& comm_;
    const stretto::Preconditioner& inner_;
};

/// Block Jacobi, whose blocks are those of the ranks: each is a preconditioner by itself.
class GatheredBlocks {
public:
    /// `spec` as for make_preconditioner; `rows`: of the matrix. Throws InputError.
    GatheredBlocks(GatheredComm& comm, const std::string& spec, const stretto::Partition& partition,
                   const stretto::LocalRows<double>& rows);

    void apply(stretto::MultiVector<double> r, stretto::MultiVector<double> z) const { each(r, z, false); }
    void apply_transpose(stretto::MultiVector<double> r, stretto::MultiVector<double> z) const { each(r, z, true); }
    double bytes(int columns) const;
    double stored(int rank) const { return blocks_[static_cast<std::size_t>(rank)].M->stored(); }

private:
    struct Block {
        stretto::Index first;
        std::unique_ptr<stretto::CsrMatrix<double>> A;
        std::unique_ptr<stretto::Preconditioner> M;
    };
    void each(stretto::MultiVector<double> r, stretto::MultiVector<double> z, bool transpose) const;

    GatheredComm& comm_;
    stretto::MpiComm alone_{MPI_COMM_SELF};
    std::vector<Block> blocks_;          // by rank
    mutable std::vector<double> moved_;  // bytes of an application, by rank
};

/// A system that one process solves for all ranks of the machine.
class GatheredSystem final : public SimulatedSystem {
public:
    /// Throws InputError for a preconditioner that is another one on as many ranks.
    explicit GatheredSystem(const nlohmann::json& job);

    stretto::Comm& comm() override { return comm_; }
    const stretto::AnyOperator<double>& A() const override { return A_; }
    const stretto::AnyOperator<double>& M() const override { return M_; }
    std::vector<double> right_hand_sides(const std::string& text, int columns) override {
        return layout_.right_hand_sides(text, columns);
    }
    stretto::Index rows() const override { return matrix_.local_rows(); }
    int ranks() const override { return comm_.ranks(); }
    stretto::Global all_rows() const override { return layout_.partition().rows(); }
    stretto::Index rows_of_a_rank() const override;
    int neighbours() const override { return gathered_matrix_.neighbours(); }
    void begin(int vectors, int columns) override;
    double now() override { return comm_.now(); }
    void largest_of(std::span<double>) override {}

private:
    Layout layout_;
    GatheredComm comm_;
    stretto::MpiComm alone_{MPI_COMM_SELF};  // the numerics are in no virtual time
    stretto::LocalRows<double> rows_;
    stretto::CsrMatrix<double> matrix_;
    GatheredMatrix gathered_matrix_;
    std::unique_ptr<stretto::Preconditioner> preconditioner_;
    std::unique_ptr<GatheredPreconditioner> gathered_preconditioner_;
    std::unique_ptr<GatheredBlocks> blocks_;
    stretto::AnyOperator<double> A_, M_;
};
