// `twinyard check-config FILE`: what a slurm.conf and the files beside it mean here. An executable
// of its own, so that the commands need no YAML parser.
#include "config/check_config.h"

#include <cstdio>

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("twinyard: error: usage: twinyard check-config FILE\n", stderr);
        return 1;
    }
    const twinyard::config::Report report = twinyard::config::check(argv[1]);
    std::fputs(twinyard::config::render(report).c_str(), stdout);
    return report.usable ? 0 : 1;
}
