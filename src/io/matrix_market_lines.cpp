// SPDX-License-Identifier: BSD-3-Clause
#include "matrix_market_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <locale>
#include <new>
#include <sstream>
#include <utility>

#include "stretto/core/error.hpp"

namespace stretto::matrix_market {
namespace {

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
    throw InputError(fmt::format(format, std::forward<Args>(args)...));
}

/// The word as an error message can show it.
std::string quoted(std::string_view word) {
    std::string shown(word.substr(0, 40));
    for (char& c : shown)
        if (c < ' ' || c > '~') c = '?';
    return '"' + shown + (word.size() > 40 ? "…\"" : "\"");
}

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    for (std::size_t at = 0; at < line.size();) {
        if (is_blank(line[at])) {
            ++at;
            continue;
        }
        const auto begin = at;
        while (at < line.size() && !is_blank(line[at])) ++at;
        words.push_back(line.substr(begin, at - begin));
    }
    return words;
}

/// The word that starts here; the text ends with a line end.
std::string_view word_at(const char* p) {
    const char* end = p;
    while (!is_blank(*end) && *end != '\n') ++end;
    return {p, end};
}

Global parse_size(std::string_view word) {
    Global size = 0;
    const auto [stop, status] = std::from_chars(word.begin(), word.end(), size);
    if (status == std::errc::result_out_of_range && stop == word.end()) fail("the size {} is too large", word);
    if (status != std::errc{} || stop != word.end()) fail("{} is not a size", quoted(word));
    if (size < 0) fail("the size {} is negative", size);
    return size;
}

/// Hands entries, and mirrored ones, to the owners of their rows.
template <class T>
class Router {
public:
    Router(const Header& header, const Partition& partition, Piece<T>& piece)
        : header_(header), partition_(partition), piece_(piece) {
        piece.to_rank.resize(static_cast<std::size_t>(partition.ranks()));
    }

    void add(Global row, Global column, T value) {
        store(row, column, value);
        if (header_.symmetry == Symmetry::general) return;
        if (row == column) {
            if (header_.symmetry == Symmetry::skew && value != T{})
                fail("a skew-symmetric matrix has a nonzero on its diagonal");
            if (header_.symmetry == Symmetry::hermitian && value != conjugate(value))
                fail("a hermitian matrix has a value on its diagonal that is not real");
            return;
        }
        (row > column ? piece_.below : piece_.above) = true;
        store(column, row, mirrored(value));
    }

private:
    T mirrored(T value) const {
        if (header_.symmetry == Symmetry::hermitian) return conjugate(value);
        return header_.symmetry == Symmetry::skew ? -value : value;
    }
    void store(Global row, Global column, T value) {
        if (row < begin_ || row >= end_) {
            const int owner = partition_.owner(row);
            begin_ = partition_.first(owner);
            end_ = partition_.first(owner + 1);
            target_ = &piece_.to_rank[static_cast<std::size_t>(owner)];
        }
        target_->push_back({row, column, value});
    }

    const Header& header_;
    const Partition& partition_;
    Piece<T>& piece_;
    std::vector<Entry<T>>* target_ = nullptr;
    Global begin_ = 0, end_ = 0;  // rows of the owner last used
};

/// Reads lines of text that ends with a line end, so that only that needs checking for.
class Lines {
public:
    Lines(const Header& header, std::span<char> text)
        : header_(header), p_(text.data()), end_(text.data() + text.size()) {}

    /// Goes to the next line that holds an entry; false at the end.
    bool next(Global& lines) {
        while (p_ != end_) {
            ++lines;
            skip_blanks();
            if (*p_ == '%')
                p_ = std::find(p_, end_, '\n');
            else if (*p_ != '\n')
                return true;
            ++p_;
        }
        return false;
    }

    Global index(const char* name, Global limit) {
        skip_blanks();
        const char* begin = p_;
        std::uint64_t value = 0;
        unsigned digit = 0;
        while ((digit = static_cast<unsigned>(*p_) - '0') <= 9) {
            value = 10 * value + digit;
            ++p_;
        }
        if (!is_blank(*p_) && *p_ != '\n') refuse_index(begin, name, limit);
        if (p_ == begin) too_few();
        constexpr int safe_digits = std::numeric_limits<std::uint64_t>::digits10;
        if (p_ - begin > safe_digits || value == 0 || value > static_cast<std::uint64_t>(limit))
            refuse_index(begin, name, limit);
        return static_cast<Global>(value) - 1;
    }

    template <class T>
    T value() {
        if constexpr (is_complex<T>) {
            const double real = number();
            return {real, header_.field == Field::complex ? number() : 0};
        } else {
            return number();
        }
    }

    double number() {
        if (header_.field == Field::pattern) return 1;
        skip_blanks();
        if (*p_ == '\n') too_few();
        const char* word = p_;
        const char* begin = word + (word[0] == '+' && word[1] != '-' ? 1 : 0);
        double value = 0;
        auto parsed = parse(begin, value);
        if (char& exponent = p_[parsed.ptr - p_]; exponent == 'd' || exponent == 'D') {
            const char written = std::exchange(exponent, 'e');
            parsed = parse(begin, value);
            exponent = written;
        }
        p_ += parsed.ptr - p_;
        if ((!is_blank(*p_) && *p_ != '\n') || parsed.ec != std::errc{})
            fail("{} is not a number", quoted(word_at(word)));
        if (!std::isfinite(value)) fail("{} is not a finite number", quoted(word_at(word)));
        if (header_.field == Field::integer && value != std::trunc(value))
            fail("{} is not an integer", quoted(word_at(word)));
        return value;
    }

    void finish() {
        skip_blanks();
        if (*p_ != '\n') fail("more than {} on the line", fields());
        ++p_;
    }

private:
    void skip_blanks() {
        while (is_blank(*p_)) ++p_;
    }

    const char* fields() const {
        if (header_.field == Field::complex)
            return header_.coordinate ? "row, column, real and imaginary part" : "real and imaginary part";
        if (!header_.coordinate) return "one value";
        return header_.field == Field::pattern ? "row and column" : "row, column and value";
    }
    [[noreturn]] void too_few() const { fail("less than {} on the line", fields()); }

    [[noreturn]] static void refuse_index(const char* begin, const char* name, Global limit) {
        const auto word = word_at(begin);
        const auto digits = word.substr(word.starts_with('-') ? 1 : 0);
        if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos)
            fail("{} is not a {} index", quoted(word), name);
        fail("{} index {} is outside 1..{}", name, word, limit);
    }

    /// As from_chars, but numbers out of range get their nearest double: from_chars does not tell which of 0
    /// and infinity that is.
    std::from_chars_result parse(const char* begin, double& value) const {
        auto parsed = std::from_chars(begin, static_cast<const char*>(end_), value);
        if (parsed.ec == std::errc::result_out_of_range) {
            std::istringstream stream(std::string(begin, parsed.ptr));
            stream.imbue(std::locale::classic());
            if (!(stream >> value)) value = std::numeric_limits<double>::infinity();
            parsed.ec = {};
        }
        return parsed;
    }

    const Header& header_;
    char* p_;
    char* end_;
};

}  // namespace

Header parse_banner(std::string_view line) {
    std::string lower(line);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const auto words = words_of(lower);
    if (words.empty() || words[0] != "%%matrixmarket")
        fail("not a Matrix Market file: it does not start with %%MatrixMarket (scipy.io.mmwrite writes such files)");
    if (words.size() != 5)
        fail("the banner needs \"%%MatrixMarket matrix\", format, field and symmetry; it has {} words", words.size());
    Header header{};
    if (words[1] != "matrix") fail("the object {} is not supported, only matrix", quoted(words[1]));

    if (words[2] != "coordinate" && words[2] != "array")
        fail("the format {} is neither coordinate nor array", quoted(words[2]));
    header.coordinate = words[2] == "coordinate";

    if (words[3] == "complex")
        header.field = Field::complex;
    else if (words[3] == "real")
        header.field = Field::real;
    else if (words[3] == "integer")
        header.field = Field::integer;
    else if (words[3] == "pattern")
        header.field = Field::pattern;
    else
        fail("the field {} is none of real, integer, complex and pattern", quoted(words[3]));

    if (words[4] == "general")
        header.symmetry = Symmetry::general;
    else if (words[4] == "symmetric")
        header.symmetry = Symmetry::symmetric;
    else if (words[4] == "skew-symmetric")
        header.symmetry = Symmetry::skew;
    else if (words[4] == "hermitian")
        header.symmetry = Symmetry::hermitian;
    else
        fail("the symmetry {} is none of general, symmetric, skew-symmetric and hermitian", quoted(words[4]));

    if (header.field == Field::pattern && !header.coordinate) fail("an array cannot be a pattern");
    if (header.field == Field::pattern && header.symmetry == Symmetry::skew) fail("a pattern cannot be skew-symmetric");
    if (header.symmetry == Symmetry::hermitian && header.field != Field::complex)
        fail("a hermitian matrix is complex, not {}: write symmetric", words[3]);
    return header;
}

void parse_sizes(std::string_view line, Header& header) {
    const auto words = words_of(line);
    if (words.size() != (header.coordinate ? 3 : 2))
        fail("the size line needs {}; it has {} words",
             header.coordinate ? "rows, columns and entries" : "rows and columns", words.size());
    header.rows = parse_size(words[0]);
    header.columns = parse_size(words[1]);
    const auto shape = fmt::format("{} × {}", header.rows, header.columns);
    if (header.rows == 0 || header.columns == 0) fail("a {} matrix is empty", shape);
    if (header.symmetry != Symmetry::general && header.rows != header.columns)
        fail("a symmetric matrix cannot be {}", shape);
    const bool countable = header.columns <= std::numeric_limits<Global>::max() / header.rows;
    if (header.coordinate) {
        header.entries = parse_size(words[2]);
        if (countable && header.entries > header.rows * header.columns)
            fail("{} entries are more than a {} matrix has", header.entries, shape);
    } else {
        if (!countable) fail("a {} array is too large", shape);
        header.entries = header.entries_before(header.columns);
    }
}

template <class T>
Piece<T> parse_lines(const Header& header, const Partition& partition, std::span<char> text) {
    Piece<T> piece;
    try {
        Router<T> router(header, partition, piece);
        Lines lines(header, text);
        while (lines.next(piece.lines)) {
            if (header.coordinate) {
                const Global row = lines.index("row", header.rows);
                const Global column = lines.index("column", header.columns);
                router.add(row, column, lines.value<T>());
            } else {
                piece.array.push_back(lines.value<T>());
            }
            lines.finish();
            ++piece.entries;
        }
    } catch (const std::bad_alloc&) {
        piece.error = "out of memory";
    } catch (const std::exception& error) {
        piece.error = error.what();
    }
    return piece;
}

template <class T>
void place(const Header& header, const Partition& partition, Global first, Piece<T>& piece) {
    Global column = 0;
    for (Global end = header.columns; end - column > 1;) {
        const Global middle = column + (end - column) / 2;
        (header.entries_before(middle) <= first ? column : end) = middle;
    }
    Global row = header.first_row(column) + first - header.entries_before(column);
    Router<T> router(header, partition, piece);
    for (const T value : piece.array) {
        if (value != T{}) router.add(row, column, value);
        if (++row == header.rows) row = header.first_row(++column);
    }
    piece.array = {};
}

template Piece<double> parse_lines(const Header&, const Partition&, std::span<char>);
template void place(const Header&, const Partition&, Global, Piece<double>&);
#if STRETTO_COMPLEX
template Piece<std::complex<double>> parse_lines(const Header&, const Partition&, std::span<char>);
template void place(const Header&, const Partition&, Global, Piece<std::complex<double>>&);
#endif

}  // namespace stretto::matrix_market
