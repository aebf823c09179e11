#include "cli/cli.h"
#include "commit.h"

int main(int argc, char** argv) {
  return divvy::cli::main(argc, argv, divvy::kSourceCommit);
}
