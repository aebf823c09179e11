#include "cli/cli.h"

int main(int argc, char** argv) {
  return divvy::cli::main(argc, argv);
}
