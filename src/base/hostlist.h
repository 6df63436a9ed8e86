#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace twinyard {

/// Most names that one expression may stand for; more is an error before any name is made.
inline constexpr std::size_t kHostlistMax = 65536;

/// All names of `node[001-064,100],gpu[1,3]x`, in the order written, duplicates kept, widths kept.
/// Several brackets in one name are combined, the last one counting fastest. InvalidArgument names
/// the faulty part.
[[nodiscard]] Result<std::vector<std::string>> expand_hostlist(std::string_view text,
                                                               std::size_t max = kHostlistMax);

/// Splits at the commas outside brackets: "a[1-2,4],b" gives "a[1-2,4]" and "b". Empty pieces are
/// left out.
[[nodiscard]] std::vector<std::string_view> split_hostlist(std::string_view text);

/// The names folded as Slurm does: order and duplicates kept, only the number at the end folds,
/// names whose widths differ never share a range, a single name has no bracket. n3,n1,n2,n1 gives
/// n[3,1-2,1].
[[nodiscard]] std::string fold_hostlist(std::span<const std::string> names);
[[nodiscard]] std::string fold_hostlist(std::span<const std::string_view> names);

/// Sorted by prefix, number and width, each name once, then folded.
[[nodiscard]] std::string fold_hostlist_sorted(std::span<const std::string> names);

/// Sorts as fold_hostlist_sorted() does: n2 before n10.
void sort_hostnames(std::vector<std::string>& names);

}  // namespace twinyard
