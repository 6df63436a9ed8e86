// Every Slurm command and twinyard itself: the name it is called by decides.
#include "cli/commands.h"

int main(int argc, char** argv) {
    return twinyard::cli::run_main(argc, argv);
}
