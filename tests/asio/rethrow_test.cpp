#include "asio/rethrow.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace divvy {
namespace {

TEST(Rethrow, Exception_Thrown) {
  EXPECT_THROW(rethrow(std::make_exception_ptr(std::out_of_range("far"))), std::out_of_range);
}

TEST(Rethrow, NoException_Returns) {
  EXPECT_NO_THROW(rethrow(nullptr));
}

}  // namespace
}  // namespace divvy
