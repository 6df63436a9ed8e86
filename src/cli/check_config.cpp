#include "config/check_config.h"

#include "cli/verbs.h"

namespace twinyard::cli {

ExitCode run_check_config(Args args, Output& output) {
    if (args.size() != 1) {
        output.error("usage: twinyard check-config FILE");
        return kFailed;
    }
    const config::Report report = config::check(std::string(args.front()));
    output.out(config::render(report));
    return report.usable ? kOk : kFailed;
}

}  // namespace twinyard::cli
