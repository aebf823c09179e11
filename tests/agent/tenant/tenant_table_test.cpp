#include "tenant/tenant_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace divvy::agent {
namespace {

class TenantTableTest : public testing::Test {
 protected:
  TenantPtr add(const std::string& id, const std::string& name) {
    auto tenant = std::make_shared<Tenant>(loop_);
    tenant->record.id = id;
    tenant->record.name = name;
    table_.add(tenant);
    return tenant;
  }

  asio::io_context loop_;
  TenantTable table_;
};

TEST_F(TenantTableTest, FindNameOfOneIsIdOfAnother_IdWins) {
  add("a", "b");
  const TenantPtr other = add("b", "web");
  EXPECT_EQ(table_.find("b"), other);
  EXPECT_EQ(table_.find("web"), other);
  EXPECT_EQ(table_.find("none"), nullptr);
}

TEST_F(TenantTableTest, FindEmptyText_NoUnnamedTenantIsFound) {
  add("a", "");
  EXPECT_EQ(table_.find(""), nullptr);
}

TEST_F(TenantTableTest, RemoveTenant_IdIsFreeAgain) {
  add("a", "web");
  EXPECT_TRUE(table_.contains("a"));
  table_.remove("a");
  EXPECT_FALSE(table_.contains("a"));
  EXPECT_TRUE(table_.empty());
}

// A tenant without pages is broken: no command can start in it.
TEST_F(TenantTableTest, UnstartedOfTenantWithoutPages_IsNotOffered) {
  const TenantPtr tenant = add("a", "web");
  tenant->record.holder = {7, 70};
  EXPECT_EQ(table_.unstartedOf({7, 70}), nullptr);
}

TEST_F(TenantTableTest, OwnerOfCommandOfATenant_IsThatTenant) {
  const TenantPtr tenant = add("a", "web");
  tenant->dir = "/nowhere";
  const int self = getpid();
  EXPECT_EQ(table_.ownerOf(self), nullptr);
  tenant->record.command_pid = self;
  EXPECT_EQ(table_.ownerOf(self), tenant);
}

}  // namespace
}  // namespace divvy::agent
