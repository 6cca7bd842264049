// SPDX-License-Identifier: Apache-2.0
#include "testbed/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "weft/base/file.h"

namespace weft::testbed {
namespace {

namespace fs = std::filesystem;

/// A folder that looks like a cpu controller. The files of its groups exist already.
class Cgroup : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    fs::create_directories(root_ / "weft-testbed/2x/host1");
  }
  void TearDown() override { fs::remove_all(root_); }

  void make(const std::string& file) { std::ofstream(root_ / file); }
  std::string content(const std::string& file) { return *read_file((root_ / file).string()); }

  fs::path root_;
};

TEST(CpuController, FirstVersionIsPreferred) {
  const auto mixed = find_cpu_controller(
      "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
      "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n"
      "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n");
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->version, 1);
  EXPECT_EQ(mixed->root, "/sys/fs/cgroup/cpu,cpuacct");
  const auto second = find_cpu_controller("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->version, 2);
  EXPECT_FALSE(find_cpu_controller("proc /proc proc rw 0 0\n"));
}

TEST(CpuController, QuotaIsTheShareOfTheCores) {
  Host host;
  EXPECT_EQ(cpu_quota_us(host), 0);
  host.speed_permille = 500;
  EXPECT_EQ(cpu_quota_us(host), 5'000);
  host.pinned_to = {0, 1};
  EXPECT_EQ(cpu_quota_us(host), 10'000);
  host.pinned_to.clear();
  host.cores = 4;
  EXPECT_EQ(cpu_quota_us(host), 20'000);
  host.speed_permille = 1000;
  EXPECT_EQ(cpu_quota_us(host), 40'000);
}

TEST_F(Cgroup, VersionOneTakesPeriodAndQuota) {
  make("weft-testbed/2x/host1/cpu.cfs_period_us");
  make("weft-testbed/2x/host1/cpu.cfs_quota_us");
  Cluster cluster = *read_cluster("2x");
  cluster.hosts[1].speed_permille = 50;  // less than the kernel takes in 10 ms
  ASSERT_TRUE(limit_cpu({root_.string(), 1}, cluster, cluster.hosts[1]));
  EXPECT_EQ(content("weft-testbed/2x/host1/cpu.cfs_period_us"), "100000");
  EXPECT_EQ(content("weft-testbed/2x/host1/cpu.cfs_quota_us"), "5000");
}

TEST_F(Cgroup, VersionTwoTakesBothInOneLineAndHandsTheControllerDown) {
  for (const char* file :
       {"cgroup.subtree_control", "weft-testbed/cgroup.subtree_control",
        "weft-testbed/2x/cgroup.subtree_control", "weft-testbed/2x/host1/cpu.max"}) {
    make(file);
  }
  Cluster cluster = *read_cluster("2x");
  cluster.hosts[1].speed_permille = 500;
  ASSERT_TRUE(limit_cpu({root_.string(), 2}, cluster, cluster.hosts[1]));
  EXPECT_EQ(content("weft-testbed/2x/host1/cpu.max"), "5000 10000");
  EXPECT_EQ(content("weft-testbed/2x/cgroup.subtree_control"), "+cpu");
}

TEST_F(Cgroup, HostWithoutLimitNeedsNoGroup) {
  const Cluster cluster = *read_cluster("2x");
  ASSERT_TRUE(limit_cpu({root_.string(), 1}, cluster, cluster.hosts[0]));
  EXPECT_FALSE(fs::exists(root_ / "weft-testbed/2x/host0"));
}

TEST_F(Cgroup, GroupsOfAClusterAreRemoved) {
  ASSERT_TRUE(remove_cpu_groups({root_.string(), 1}, "2x"));
  EXPECT_FALSE(fs::exists(root_ / "weft-testbed"));
  ASSERT_TRUE(remove_cpu_groups({root_.string(), 1}, "2x")) << "nothing left to remove";
}

}  // namespace
}  // namespace weft::testbed
