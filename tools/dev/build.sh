# Configuring and building presets. Sourced by ./dev.

# A tree for the demo alone is configured without tests, whose packages may be missing; the first
# command that wants tests configures it again.
configure() { # PRESET [tests]
  local dir=build/$1 tests=OFF
  if [[ ${2:-} == tests ]] || installed "${TEST_PACKAGES[@]}"; then tests=ON; fi
  if [[ -f $dir/build.ninja ]] && { [[ $tests == OFF ]] || grep -q '^DIVVY_TESTS:BOOL=ON' "$dir/CMakeCache.txt"; }; then
    return 0
  fi
  say "configuring $1 (about 10 s)"
  mkdir -p build
  cmake --preset "$1" -DDIVVY_TESTS=$tests >"build/configure-$1.log" 2>&1 ||
    { cat "build/configure-$1.log"; exit 1; }
}

# Steps of a build that were never done. (A changed file is not counted: ninja itself tells.)
steps() { # PRESET [TARGET...]
  local all logged=0
  all=$(ninja -C "build/$1" -t commands "${@:2}" 2>/dev/null | wc -l)
  [[ ! -e build/$1/.ninja_log ]] || logged=$(cut -f4 "build/$1/.ninja_log" | sort -u | wc -l)
  echo $((all > logged ? all - logged : 0))
}

# What a build is going to take, before it begins. 2.8 s of processor time a step were measured where nothing was
# cached (bench/results/build.md).
announce() { # PRESET [TARGET...]
  local count minutes
  count=$(steps "$@")
  minutes=$(((count * 28 / 10 / JOBS + 59) / 60))
  if ((count > 20)); then
    say "building $1: $count steps, $JOBS at a time; about $minutes min if the compiler cache is empty"
  else
    say "building $1 ($JOBS jobs)"
  fi
}

# Without targets: everything, tests included. Targets may be files of the build directory, too.
build() { # PRESET [TARGET...]
  local preset=$1
  shift
  need_to_build
  if (($#)); then
    configure "$preset"
  else
    need "${TEST_PACKAGES[@]}"
    configure "$preset" tests
  fi
  announce "$preset" "$@"
  ninja -C "build/$preset" -j "$JOBS" "$@"
}

# The same for targets of tests and benches, whose packages the demo does not install.
build_tests() { # PRESET TARGET...
  need_to_build && need "${TEST_PACKAGES[@]}"
  configure "$1" tests
  build "$@"
}

# build [PRESET] [TARGET...] [--times]
build_command() {
  local times=0 words=() word
  for word in "$@"; do
    if [[ $word == --times ]]; then times=1; else words+=("$word"); fi
  done
  ((${#words[@]})) || words=(release)
  [[ -n $(sed -n "s/.*\"name\": \"${words[0]}\", \"configurePreset\".*/x/p" CMakePresets.json) ]] ||
    die "build: no preset \"${words[0]}\"; accepted are dev, release, asan, tsan, fuzz"
  if ((${#words[@]} > 1)); then build_tests "${words[@]}"; else build "${words[0]}"; fi
  if ((times)); then python3 -B tools/build_times.py "build/${words[0]}"; fi
}

# The first scene needs only the simulated card: it plays while the product still compiles.
demo() { # [--sim PROFILE] [--no-console]
  local prologue=""
  say "Divvy's demo: install packages, build, share a GPU. The first time takes about 10 min on 2 processors, later ones 1 min"
  need_to_build
  configure release
  if (($(steps release divvy_demo) > 20)); then
    build release divvy_demo_prologue
    { demo/run build/release --prologue "$@" >build/prologue.log 2>&1 || true; cat build/prologue.log; } &
    prologue=$!
  fi
  build release divvy_demo
  [[ -z $prologue ]] || wait "$prologue"
  exec demo/run build/release "$@"
}
