// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/storage_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stretto/comm/collective.hpp"

namespace stretto {

StorageReport report_storage(const Comm& comm, const StoredForms& forms, Index local_rows, Global nonzeros,
                             int columns) {
    using Forms = RowForms<double>;
    StorageReport report{.columns = columns, .forms = {}, .main = {}, .halved_rows = 0, .bytes_per_nonzero = NAN};
    Index compressed = local_rows, halved = 0;
    for (std::size_t f = 0; f < Forms::size; ++f) {
        const bool read = StoredForms::is_read(f, columns);
        const Index rows = read ? forms.forms[f].rows : 0;
        const auto different = all_max(comm, Global{forms.forms[f].different});
        report.forms.push_back(
            {Forms::names[f], all_sum(comm, Global{rows}), fmt::format(fmt::runtime(Forms::words[f]), different)});
        compressed -= rows;
        if (read) halved += forms.forms[f].halved;
    }
    report.forms.insert(report.forms.begin(), {Storage::compressed_rows.name(), all_sum(comm, Global{compressed}), {}});
    report.main = std::ranges::max(report.forms, {}, &StorageReport::Form::rows).name;
    report.halved_rows = all_sum(comm, Global{halved});
    const double bytes = all_sum(comm, forms.bytes(columns));
    if (nonzeros > 0) report.bytes_per_nonzero = bytes / static_cast<double>(nonzeros);
    return report;
}

std::string StorageReport::in_words(std::string_view asked) const {
    auto text = fmt::format("storage: a product reads {:.2f} bytes for a nonzero", bytes_per_nonzero);
    Global all = 0;
    for (const auto& form : forms) all += form.rows;
    for (const auto& [name, rows, words] : forms) {
        if (rows > 0 && !words.empty())
            text += fmt::format(", {:.1f} % of the rows {}",
                                100.0 * static_cast<double>(rows) / static_cast<double>(all), words);
        if (name == asked && rows == 0)
            text +=
                fmt::format("; {} was asked for, and does not pay{}", asked, columns > 1 ? " for several columns" : "");
    }
    if (halved_rows > 0) text += ", one of two mirror images kept";
    return text;
}

}  // namespace stretto
