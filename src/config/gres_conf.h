#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/entries.h"

namespace twinyard::config {

/// One line of gres.conf.
struct GresLine {
    std::string file;
    std::size_t line = 0;
    std::vector<std::string> nodes;  ///< Sorted; empty: all nodes.
    std::string name, type;
    std::vector<std::string> files;  ///< Expanded: /dev/nvidia[0-7] is eight.
    std::optional<std::int64_t> count;
    std::string cores, links, flags, auto_detect;
    std::string nodes_text, files_text;
};

struct GresConf {
    std::vector<GresLine> lines;
    std::string auto_detect;  ///< Of a line that stands alone.

    /// The device files of a node's resource, in order; empty when the file says nothing. An empty
    /// type matches all.
    [[nodiscard]] std::vector<std::string> files_of(std::string_view node,
                                                    std::string_view name,
                                                    std::string_view type) const;
};

[[nodiscard]] std::span<const Entry<GresLine>> gres_table();

[[nodiscard]] GresConf read_gres_conf(std::string_view text,
                                      const std::string& name,
                                      const FileLoader& loader,
                                      Findings& findings);

}  // namespace twinyard::config
