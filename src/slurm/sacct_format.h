#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/accounting.h"
#include "base/result.h"
#include "slurm/format.h"

namespace twinyard::slurm {

inline constexpr std::string_view kSacctDefault =
    "jobid,jobname,partition,account,alloccpus,state,exitcode";
inline constexpr std::string_view kSacctBrief = "jobid,state,exitcode";

enum class SacctStyle : std::uint8_t { Table, Parsable, Parsable2 };

struct SacctColumn {
    std::uint16_t field = 0;
    std::int32_t width = 10;  ///< Negative: left-aligned.
    std::string_view header;
};

struct SacctLayout {
    std::vector<SacctColumn> columns;
    SacctStyle style = SacctStyle::Table;
    std::string delimiter = "|";
    char units = 0;  ///< --units=K|M|G|T|P; 0: as fits.
    bool convert_units = true;
};

/// Every field of --helpformat, in its order and spelling.
[[nodiscard]] std::vector<std::string_view> sacct_field_names();
/// What --helpformat prints.
[[nodiscard]] std::string sacct_help_format();

/// `JobID%20,state`: names in any case, cut to any prefix. InvalidArgument:
/// `Invalid field requested: "foo"`.
[[nodiscard]] Result<SacctLayout> sacct_layout(std::string_view format);

/// Header line, and the line of dashes with SacctStyle::Table.
void append_sacct_header(std::string& out, const SacctLayout& layout);
/// One row: a job's (step -1) or a step's record. `job`: the job's record for a step's row (its
/// partition, times … show there too); null for the job's own.
void append_sacct_row(std::string& out,
                      const SacctLayout& layout,
                      const api::AccountingRecord& record,
                      const api::AccountingRecord* job,
                      const TextContext& context);

/// The record's state in sacct's word: "CANCELLED by 1000", "REQUEUED" …
[[nodiscard]] std::string sacct_state(const api::AccountingRecord& record);
/// Does the record match one of the state words (-s), any case, long or compact?
[[nodiscard]] bool sacct_has_state(const api::AccountingRecord& record,
                                   std::span<const std::string> states);

}  // namespace twinyard::slurm
