// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>

#include "../sparse/assemble.hpp"
#include "matrix_market_lines.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/io/matrix_market.hpp"
#include "stretto/io/petsc_binary.hpp"

namespace stretto {
namespace {

using namespace matrix_market;

/// Text for each thread of each rank in one round: enough that the round's messages do not show, little
/// enough that it stays in cache from reading to parsing.
constexpr std::size_t bytes_per_thread = std::size_t{1} << 22;
constexpr std::size_t max_bytes_per_round = std::size_t{1} << 28;

/// How much longer than a gzipped file its text can be (1032 times, rounded up).
constexpr std::size_t most_expansion = 1100;

/// Memory goes by rows and entries. Entries are in the file; more rows than this must have entries as well,
/// or one line could claim all memory.
constexpr Global free_rows = 1'000'000;

using Clock = std::chrono::steady_clock;

std::string at_line(const std::string& path, Global line, const std::string& message) {
    return fmt::format("{}, line {}: {}", path, line, message);
}

/// A plain or gzipped file in blocks of whole lines.
class TextFile {
public:
    /// Throws InputError where there is no such file.
    TextFile(const std::string& path, std::size_t block_size) : path_(path), size_(block_size) {
        if (std::error_code ignored; std::filesystem::is_directory(path, ignored))
            throw InputError(path + " is a directory");
        file_.reset(gzopen(path.c_str(), "rb"));
        if (!file_) throw InputError(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
        gzbuffer(file_.get(), 1U << 18);
        std::error_code unknown;
        if (const auto bytes = std::filesystem::file_size(path, unknown); !unknown) {
            bytes_ = static_cast<double>(bytes);
            size_ = std::min(size_, most_expansion * std::max<std::size_t>(bytes, 64));
        }
    }

    /// The next whole lines, the last with a line end too; empty at the end of the file. Throws InputError
    /// where the file cannot be read or a line is longer than a block.
    void next(std::vector<char>& text) {
        text.resize(std::max(carry_.size(), size_) + 1);
        std::ranges::copy(carry_, text.begin());
        std::size_t have = carry_.size();
        const std::size_t wanted = size_ - std::min(size_, have);
        const int got = gzread(file_.get(), text.data() + have, static_cast<unsigned>(wanted));
        int status = Z_OK;
        if (const char* reason = gzerror(file_.get(), &status); got < 0 || status != Z_OK)
            throw InputError(fmt::format("cannot read {}", reason));  // which starts with the path
        have += static_cast<std::size_t>(got);
        std::size_t whole = have;
        if (static_cast<std::size_t>(got) == wanted)
            while (whole > 0 && text[whole - 1] != '\n') --whole;
        else if (have > 0 && text[have - 1] != '\n')
            text[have++] = '\n', ++whole;
        if (whole == 0 && have > 0) throw InputError(fmt::format("{} has a line longer than {} bytes", path_, size_));
        carry_.assign(text.data() + whole, text.data() + have);
        text.resize(whole);
    }

    void put_back(std::span<const char> text) { carry_.insert(carry_.begin(), text.begin(), text.end()); }

    double fraction_read() const { return bytes_ > 0 ? static_cast<double>(gzoffset(file_.get())) / bytes_ : 0; }

private:
    struct Close {
        void operator()(gzFile file) const { gzclose(file); }
    };
    std::string path_;
    std::size_t size_;
    double bytes_ = 0;
    std::unique_ptr<gzFile_s, Close> file_;
    std::vector<char> carry_;  // read, but not handed out
};

Header read_header(TextFile& file, const std::string& path) {
    std::vector<char> text;
    Header header{};
    Global line = 0;
    for (;;) {
        file.next(text);
        if (text.empty()) throw InputError(line == 0 ? path + " is empty" : path + " ends before the line of sizes");
        for (auto begin = text.begin(); begin != text.end();) {
            const auto end = std::find(begin, text.end(), '\n');
            const std::string_view words(begin, end);
            const auto first = std::ranges::find_if_not(words, is_blank);
            ++line;
            try {
                if (line == 1) {
                    header = parse_banner(words);
                } else if (first != words.end() && *first != '%') {
                    parse_sizes(words, header);
                    header.line = line;
                    file.put_back({end + 1, text.end()});
                    return header;
                }
            } catch (const InputError& error) {
                throw InputError(at_line(path, line, error.what()));
            }
            begin = end + 1;
        }
    }
}

/// Where part i of n starts when text is cut into parts of whole lines, about equally long.
std::size_t part_begin(std::span<const char> text, int i, int n) {
    const std::size_t about = text.size() * static_cast<std::size_t>(i) / static_cast<std::size_t>(n);
    if (about == 0 || about == text.size()) return about;
    return static_cast<std::size_t>(std::find(text.begin() + static_cast<std::ptrdiff_t>(about) - 1, text.end(), '\n') +
                                    1 - text.begin());
}

/// Rank 0 reads the text, every rank parses its part of each block, entries go to the owners of their rows.
class Reader {
public:
    Reader(const Comm& comm, std::string path, int threads, const Progress& progress)
        : comm_(comm),
          path_(std::move(path)),
          threads_(static_cast<int>(std::max<Global>(1, all_max(comm, Global{threads})))),
          progress_(progress) {
        agree(comm, [&] {
            if (comm.rank() != 0) return;
            const auto pieces = static_cast<std::size_t>(comm.size()) * static_cast<std::size_t>(threads_);
            file_ = std::make_unique<TextFile>(path_, std::min(pieces * bytes_per_thread, max_bytes_per_round));
            header_ = read_header(*file_, path_);
        });
        MPI_Bcast(&header_, sizeof header_, MPI_BYTE, 0, comm.mpi());
    }

    const Header& header() const { return header_; }

    /// Throws InputError about the size line; call it on all ranks alike.
    [[noreturn]] void refuse_sizes(const std::string& message) const {
        throw InputError(at_line(path_, header_.line, message));
    }

    /// All entries of this rank's rows.
    template <class T>
    std::vector<std::vector<Entry<T>>> entries(const Partition& partition);

private:
    /// What one rank found in its part of a block.
    struct Found {
        Global lines = 0, entries = 0;
        bool failed = false, below = false, above = false;
    };

    bool next_part(std::span<char>& part);
    void report_progress();

    const Comm& comm_;
    std::string path_;
    int threads_;
    const Progress& progress_;
    Clock::time_point reported_ = Clock::now() + std::chrono::milliseconds(1800);
    Header header_{};
    std::unique_ptr<TextFile> file_;  // rank 0
    std::vector<char> text_, ahead_;
    std::future<void> reading_;  // of `ahead_`, on rank 0; destroyed, and so waited for, first
};

void Reader::report_progress() {
    const auto now = Clock::now();
    if (!progress_ || now - reported_ < std::chrono::milliseconds(200)) return;
    reported_ = now;
    progress_(file_->fraction_read());
}

/// Deals the next block; false on every rank at the end of the file.
bool Reader::next_part(std::span<char>& part) {
    const int ranks = comm_.size();
    std::vector<int> begins(static_cast<std::size_t>(ranks) + 1), counts(static_cast<std::size_t>(ranks));
    agree(comm_, [&] {
        if (comm_.rank() != 0) return;
        const auto read_ahead = [&] { reading_ = std::async(std::launch::async, [&] { file_->next(ahead_); }); };
        if (!reading_.valid()) read_ahead();
        reading_.get();
        std::swap(text_, ahead_);
        report_progress();
        if (!text_.empty()) read_ahead();
        for (int p = 0; p <= ranks; ++p)
            begins[static_cast<std::size_t>(p)] = static_cast<int>(part_begin(text_, p, ranks));
    });
    MPI_Bcast(begins.data(), ranks + 1, MPI_INT, 0, comm_.mpi());
    std::transform(begins.begin() + 1, begins.end(), begins.begin(), counts.begin(), std::minus{});
    const int count = counts[static_cast<std::size_t>(comm_.rank())];
    if (comm_.rank() == 0) {
        MPI_Scatterv(text_.data(), counts.data(), begins.data(), MPI_BYTE, MPI_IN_PLACE, 0, MPI_BYTE, 0, comm_.mpi());
    } else {
        text_.resize(static_cast<std::size_t>(count));
        MPI_Scatterv(nullptr, nullptr, nullptr, MPI_BYTE, text_.data(), count, MPI_BYTE, 0, comm_.mpi());
    }
    part = {text_.data(), static_cast<std::size_t>(count)};
    return begins.back() > 0;
}

template <class T>
std::vector<std::vector<Entry<T>>> Reader::entries(const Partition& partition) {
    if (!is_complex<T> && header_.field == Field::complex)
        throw InputError(at_line(path_, 1, "complex values, where real ones are asked for"));
    std::vector<std::vector<Entry<T>>> mine;
    std::vector<Piece<T>> pieces(static_cast<std::size_t>(threads_));
    Global lines = header_.line, entries = 0;
    bool below = false, above = false;
    for (std::span<char> text; next_part(text);) {
        agree(comm_, [&] {
            parallel(threads_, [&](int t, int of) {
                const auto begin = part_begin(text, t, of), end = part_begin(text, t + 1, of);
                pieces[static_cast<std::size_t>(t)] =
                    parse_lines<T>(header_, partition, text.subspan(begin, end - begin));
            });
        });

        Found found;
        std::string error;
        for (const auto& piece : pieces) {
            if (found.failed) break;
            found.lines += piece.lines;
            found.entries += piece.entries;
            found.below |= piece.below;
            found.above |= piece.above;
            found.failed = !piece.error.empty();
            error = piece.error;
        }
        Global before = entries;  // entries before this rank's part
        const auto all = all_gather(comm_, found);
        for (int p = 0; p < comm_.size(); ++p) {
            const auto& theirs = all[static_cast<std::size_t>(p)];
            lines += theirs.lines;
            if (theirs.failed) throw InputError(at_line(path_, lines, broadcast(comm_, error, p)));
            if (p == comm_.rank()) before = entries;
            entries += theirs.entries;
            below |= theirs.below;
            above |= theirs.above;
        }
        if (entries > header_.entries)
            refuse_sizes(fmt::format("announces {} entries, but the file has more", header_.entries));

        for (auto& piece : pieces) {
            if (!header_.coordinate) {
                agree(comm_, [&] { place(header_, partition, before, piece); });
                before += piece.entries;
            }
            piece.to_rank.resize(static_cast<std::size_t>(comm_.size()));  // built without threads one piece is all
            for (auto& part : exchange(comm_, std::move(piece.to_rank)))
                if (!part.empty()) mine.push_back(std::move(part));
        }
    }
    if (entries < header_.entries)
        refuse_sizes(fmt::format("announces {} entries, but the file ends after {}", header_.entries, entries));
    if (below && above)
        refuse_sizes(
            "announces one triangle of a symmetric matrix, but the file has entries on both sides of the "
            "diagonal");
    return mine;
}

/// Real rows as values of T.
template <class T>
DistributedRowsOf<T> as(DistributedRows matrix) {
    if constexpr (is_complex<T>)
        return {std::move(matrix.partition),
                {std::move(matrix.rows.start),
                 std::move(matrix.rows.columns),
                 {matrix.rows.values.begin(), matrix.rows.values.end()}}};
    else
        return matrix;
}

}  // namespace

bool holds_complex(const Comm& comm, const std::string& path) {
    if (is_petsc_binary(comm, path)) return false;
    return Reader(comm, path, 1, {}).header().field == Field::complex;
}

template <class T>
DistributedRowsOf<T> read_matrix(const Comm& comm, const std::string& path, int threads, const Progress& progress) {
    if (is_petsc_binary(comm, path)) return as<T>(read_petsc_matrix(comm, path));
    Reader reader(comm, path, threads, progress);
    const Header& header = reader.header();
    if (header.rows != header.columns)
        reader.refuse_sizes(fmt::format("a {} × {} matrix is not square", header.rows, header.columns));
    if (header.rows > free_rows && header.entries < header.rows / 2)
        reader.refuse_sizes(fmt::format("{} entries leave some of {} rows empty", header.entries, header.rows));
    const Partition partition = [&] {
        try {
            return Partition::even(header.rows, comm.size());
        } catch (const InputError& error) {
            reader.refuse_sizes(error.what());
        }
    }();
    auto pieces = reader.entries<T>(partition);
    LocalRows<T> rows;
    agree(comm, [&] { rows = compress(partition.first(comm.rank()), partition.rows(comm.rank()), std::move(pieces)); });
    return {partition, std::move(rows)};
}

template <class T>
ArrayOf<T> read_array(const Comm& comm, const std::string& path, const Partition& partition, int threads,
                      const Progress& progress) {
    if (is_petsc_binary(comm, path)) {
        const auto values = read_petsc_vector(comm, path, partition);
        return {{values.begin(), values.end()}, 1};
    }
    Reader reader(comm, path, threads, progress);
    const Header& header = reader.header();
    if (header.rows != partition.rows())
        throw InputError(fmt::format("A has {} rows, the vectors in {} have {}", partition.rows(), path, header.rows));
    if (header.columns > max_columns)
        reader.refuse_sizes(fmt::format("{} columns are more than the {} right-hand sides one solve can hold",
                                        header.columns, max_columns));
    const auto pieces = reader.entries<T>(partition);
    ArrayOf<T> result{{}, static_cast<int>(header.columns)};
    agree(comm, [&] {
        const auto columns = static_cast<std::size_t>(header.columns);
        const Global first = partition.first(comm.rank());
        result.values.resize(static_cast<std::size_t>(partition.rows(comm.rank())) * columns);
        for (const auto& piece : pieces)
            for (const auto& [row, column, value] : piece)
                result.values[static_cast<std::size_t>(row - first) * columns + static_cast<std::size_t>(column)] +=
                    value;
    });
    return result;
}

template DistributedRowsOf<double> read_matrix(const Comm&, const std::string&, int, const Progress&);
template ArrayOf<double> read_array(const Comm&, const std::string&, const Partition&, int, const Progress&);
#if STRETTO_COMPLEX
template DistributedRowsOf<std::complex<double>> read_matrix(const Comm&, const std::string&, int, const Progress&);
template ArrayOf<std::complex<double>> read_array(const Comm&, const std::string&, const Partition&, int,
                                                  const Progress&);
#endif

}  // namespace stretto
