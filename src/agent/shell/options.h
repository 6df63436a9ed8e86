#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace twinyard::agent {

/// The command line of twinyard-agent.
struct AgentOptions {
    std::string dir;         ///< Its own folder, absolute.
    std::string controller;  ///< Address.
    std::string node;        ///< Name; the host's by default.
    std::string slurm_conf, bin, log;
    std::string stepd;       ///< Path of twinyard-stepd; beside our own program by default.
    std::uint32_t cpus = 0;  ///< Declared ones; 0, and empty: what the host has.
    std::int64_t memory_bytes = 0;
    std::string gpus;          ///< "h100:8", "h100:4,a100:2"
    bool shares_host = false;  ///< Other nodes are on this host too.
    bool emulate = false;      ///< Plays the nodes of `nodes_from` in memory.
    std::string nodes_from;
};

/// InvalidArgument with one line for people. `args` without the program's name.
[[nodiscard]] Result<AgentOptions> parse_options(std::span<const char* const> args);

}  // namespace twinyard::agent
