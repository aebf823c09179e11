// Pictures and particles.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "images.cu"

namespace divvy::ptxtest {
namespace {

TEST(Images, Mandelbrot_MatchesHost) {
  Comparison run;
  const auto out = run.zeros<unsigned short>(48 * 30);
  run.launch(mandelbrot, {{3, 4}, {16, 8}}, -2.1f, 1.2f, 0.065f, 150, out, 48, 30);
}

TEST(Images, GameOfLife_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.wholes<unsigned char>(40 * 30, 0, 1));
  const auto out = run.zeros<unsigned char>(40 * 30);
  run.launch(gameOfLife, {{3, 2}, {16, 16}}, in, out, 40, 30);
}

TEST(Images, BodyStep_MatchesHost) {
  Comparison run;
  const Buffer<float4> bodies{run.buffer(run.in.floats(4 * 100, 0.1f, 10)).region};
  const Buffer<float4> speeds{run.buffer(run.in.floats(4 * 100, -1, 1)).region};
  const Buffer<float4> moved{run.zeros<float>(4 * 100).region};
  const Buffer<float4> changed{run.zeros<float>(4 * 100).region};
  run.launch(bodyStep, {{2}, {64}}, bodies, speeds, moved, changed, 100, 0.01f);
}

TEST(Images, BlurBytes_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.bytes(33 * 20));
  const auto out = run.zeros<unsigned char>(33 * 20);
  run.launch(blurBytes, {{3, 2}, {16, 16}}, in, out, 33, 20);
}

TEST(Images, GreyPixels_MatchesHost) {
  Comparison run;
  const Buffer<uchar4> in{run.buffer(run.in.bytes(4 * 200)).region};
  const auto out = run.zeros<unsigned>(200);
  run.launch(greyPixels, {{4}, {64}}, in, out, 200);
}

TEST(Images, Automaton_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(64));
  const auto out = run.zeros<unsigned>(64);
  run.launch(automaton, {{2}, {32}}, in, out, 25, 110u);
}

}  // namespace
}  // namespace divvy::ptxtest
