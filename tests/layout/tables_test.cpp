// Right values, row by row: worked examples of the literature, cases in which public implementations return a wrong
// layout or refuse a right one, and public bug reports. "" as the expected text means: must be refused.
#include <gtest/gtest.h>

#include "oracle.h"

namespace warpfold::layout {
namespace {

using oracle::read;
using oracle::text;

struct Row {
  const char* a;
  const char* b;
  const char* right;
};

// Same text; or, where published nestings differ, same function of the same size.
void expect_row(const Verdict<Layout>& v, const Row& row) {
  SCOPED_TRACE(std::string(row.a) + " , " + row.b);
  if (*row.right == 0)
    EXPECT_FALSE(v.ok()) << text(v);
  else
    EXPECT_EQ(text(v), row.right);
}

TEST(Tables, Composition) {
  const Row rows[] = {
      {"(4,6,8,10):(2,3,5,7)", "6:12", "(2,3):(9,5)"},
      {"(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"},
      {"(10,2):(16,4)", "(5,4):(1,5)", "(5,(2,2)):(16,(80,4))"},
      {"(10,2):(16,4)", "(3,4):(1,5)", "(3,(2,2)):(16,(80,4))"},
      {"20:2", "(5,4):(4,1)", "(5,4):(8,2)"},
      {"(4,6,8):(2,3,5)", "6:4", "6:3"},
      {"(4,6,8):(2,3,5)", "3:8", "3:6"},
      {"(4,6,8):(2,3,5)", "12:2", "(2,6):(4,3)"},
      {"(4,6,8):(2,3,5)", "24:1", "(4,6):(2,3)"},
      {"(4,6,8):(2,3,5)", "6:12", "(2,3):(9,5)"},
      {"(4,6,8):(2,3,5)", "2:3", "2:6"},
      {"(4,6,8):(2,3,5)", "6:2", "(2,3):(4,3)"},
      {"(4,6,8):(2,3,5)", "3:48", "3:10"},
      {"(4,6,8):(2,3,5)", "6:3", ""},
      {"(4,6,8):(2,3,5)", "3:6", ""},
      {"(4,6,8):(2,3,5)", "6:6", ""},
      {"(4,6,8):(2,3,5)", "9:1", ""},
      {"(4,6,8):(2,3,5)", "10:1", ""},
      {"(4,6,8):(2,3,5)", "5:1", ""},
      {"(4,6,8):(1,4,7)", "6:1", "6:1"},
      {"(4,2,8):(3,12,97)", "3:3", "3:9"},
      {"(4,2,8):(3,12,97)", "4:3", ""},
      {"(4,2,8):(3,15,97)", "3:3", ""},
      {"(4,3):(3,1)", "24:1", "(4,6):(3,1)"},
      {"(4,3):(3,1)", "8:1", "(4,2):(3,1)"},
      {"(4,3,1):(3,1,0)", "24:1", "(4,3,2):(3,1,0)"},
      {"(4,1):(1,0)", "8:1", "(4,2):(1,0)"},
      {"4:1", "8:1", "8:1"},
      {"(32,128):(128,1)", "(30,128):(1,32)", "(30,128):(128,1)"},
      {"(2,3):(1,2)", "(2,3):(3,1)", "(2,3):(3,1)"},
      // The three verdicts
      {"(8,8):(8,1)", "6:3", "(3,2):(24,9)"},
      {"(3,2):(1,10)", "(2,3):(1,2)", ""},
      {"(4,6):(6,1)", "(3,8):(1,3)", ""},
      // Other implementations are wrong or refuse
      {"(8,8):(8,1)", "4:5", "(2,2):(40,17)"},
      {"(8,8):(8,1)", "9:3", ""},
      {"(8,8):(8,1)", "8:7", ""},
      {"(8,8):(8,1)", "4:3", ""},
      {"(8,8):(8,1)", "8:9", "8:9"},
      {"(8,8):(1,10)", "8:9", "8:11"},
      {"(5,3):(7,1)", "2:3", "2:21"},
      {"(12,4):(1,20)", "6:5", ""},
      {"(6,2):(1,7)", "(3,2):(2,3)", ""},
      {"(4,2):(1,8)", "(4,2):(1,1)", ""},
      {"(8,8):(9,1)", "(8,4):(1,4)", ""},
      {"(4,6):(6,1)", "6:1", ""},
      {"(2,2):(0,1)", "3:1", ""},
      {"(6,3,8):(3,3,24)", "4:16", "4:18"},
      // Worked examples
      {"(5,2,5,2):(1,25,5,50)", "(2,2):(5,50)", "(2,2):(25,50)"},
      {"(8,64):(64,1)", "((4,4),4):((16,1),4)", "((4,4),(2,2)):((2,64),(256,1))"},
      {"(3,6,2,8):(72,24,4,2)", "16:9", "(2,2,4):(72,4,2)"},
      {"(12,32):(1,12)", "32:1", "32:1"},
      {"(3,6,2,8):(360,120,20,10)", "96:3", "(6,2,8):(120,20,10)"},
      {"(3,6,2,8):(360,120,20,10)", "48:6", "(3,2,8):(240,20,10)"},
      {"(3,6,2,8):(360,120,20,10)", "32:9", "(2,2,8):(360,20,10)"},
      {"(3,6,2,8):(360,120,20,10)", "4:72", "4:20"},
      {"(3,6,2,8):(96,16,8,2)", "16:72", "16:4"},
      {"(2,3):(4,1)", "(3,4):(3,1)", ""},
  };
  for (const Row& row : rows) expect_row(compose(read(row.a), read(row.b)), row);
}

TEST(Tables, CompositionOnlyAfterFlattening) {
  const Row rows[] = {
      {"(3,2):(1,10)", "(2,3):(1,2)", "(3,2):(1,10)"},
      {"(4,6):(6,1)", "(3,8):(1,3)", "(4,6):(6,1)"},
      {"(4,6,8):(2,3,5)", "6:3", ""},
      {"(6,2):(1,7)", "(3,2):(2,3)", ""},
  };
  for (const Row& row : rows) {
    EXPECT_FALSE(compose(read(row.a), read(row.b)).ok());
    expect_row(compose_flat(read(row.a), read(row.b)), row);
  }
}

// The values that a refused or disputed composition would need.
TEST(Tables, CompositionValues) {
  const auto values = [](const char* a, const char* b) {
    std::vector<int64_t> v;
    for (int64_t x = 0; x < read(b).size(); ++x) v.push_back(oracle::value(read(a), read(b)(x)));
    return v;
  };
  EXPECT_EQ(values("(6,2):(1,7)", "(3,2):(2,3)"), (std::vector<int64_t>{0, 2, 4, 3, 5, 8}));
  EXPECT_EQ(values("(4,6,8):(2,3,5)", "6:3"), (std::vector<int64_t>{0, 6, 7, 8, 9, 15}));
  EXPECT_EQ(oracle::values(*compose(read("(2,3):(1,2)"), read("(2,3):(3,1)"))),
            (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(oracle::values(*compose(read("(10,2):(16,4)"), read("(3,4):(1,5)"))),
            (std::vector<int64_t>{0, 16, 32, 80, 96, 112, 4, 20, 36, 84, 100, 116}));
}

TEST(Tables, CompositionReasons) {
  EXPECT_EQ(text(compose(read("(6,2):(1,7)"), read("(3,2):(2,3)"))),
            "not composable: modes 0 and 1 of B carry past 6 = P_1 of A: at coordinate (2,1) A(B) = 8 but "
            "the layout "
            "gives 7");
  EXPECT_EQ(text(compose(read("(4,6,8):(2,3,5)"), read("6:3"))),
            "not composable: along mode 0 of B, A turns after 2 steps, which does not divide 3: at "
            "coordinate 4 A(B) = 9 "
            "but the layout gives 14");
}

TEST(Tables, AssociativityNeedsTheDomain) {
  const Layout a = read("(5,3):(1,7)"), b = read("4:1"), c = read("2:5");
  EXPECT_EQ(text(compose(a, *compose(b, c))), "2:7");
  EXPECT_EQ(text(compose(*compose(a, b), c)), "2:5");
  EXPECT_FALSE(in_domain(b, c));
  EXPECT_TRUE(in_domain(a, b));
}

TEST(Tables, CompositionWithTilers) {
  const Row rows[] = {
      {"(12,(4,8)):(59,(13,1))", "(3,8):(4,2)", "(3,(2,4)):(236,(26,1))"},
      {"(12,(4,8)):(59,(13,1))", "(3,8):(1,1)", "(3,(4,2)):(59,(13,1))"},
      {"(12,(4,8)):(59,(13,1))", "(3,3):(1,1)", "(3,3):(59,13)"},
      {"(12,(4,8)):(59,(13,1))", "(3,5):(1,1)", ""},
      {"8:1", "(2,2):(1,1)", ""},
  };
  for (const Row& row : rows) expect_row(compose_modes(read(row.a), read(row.b)), row);
  EXPECT_EQ(text(compose_modes(read("(12,(4,8)):(59,(13,1))"), read("(3,5):(1,1)"))).find("mode 1: not composable"), 0u);
  EXPECT_EQ(text(compose_modes(read("8:1"), read("(2,2):(1,1)"))), "the tiler has 2 modes, the layout only 1");
}

TEST(Tables, Coalesce) {
  const Row rows[] = {
      {"(2,2):(0,0)", "", "4:0"},
      {"(2,1,3):(0,5,0)", "", "6:0"},
      {"(2,(1,6)):(1,(6,2))", "", "12:1"},
      {"(2,2,5,5,5):(1,2,8,40,200)", "", "(4,125):(1,8)"},
      {"((2,2),(2,2),(5,5)):((1,2),(16,32),(64,640))", "", "(4,20,5):(1,16,640)"},
      {"():()", "", "1:0"},
      {"(4,6):(1,4)", "", "24:1"},
      {"(4,1):(1,0)", "", "4:1"},
      {"(192,7):(1,192)", "", "1344:1"},
      {"(4,2):(-1,-4)", "", "8:-1"},
      {"(2,2):(2,1)", "", "(2,2):(2,1)"},
  };
  for (const Row& row : rows) EXPECT_EQ(text(coalesce(read(row.a))), row.right) << row.a;
  EXPECT_EQ(text(coalesce_extended(read("(4,1):(1,0)"))), "(4,1):(1,0)");
  EXPECT_EQ(text(filter(read("(4,2,3):(0,1,2)"))), "6:1");
  EXPECT_EQ(text(coalesce_modes(read("((2,2),(2,3)):((1,2),(8,16))"))), "(4,6):(1,8)");
  EXPECT_EQ(text(flatten(read("(4,(2,3)):(3,(12,1))"))), "(4,2,3):(3,12,1)");
  EXPECT_EQ(text(sort_modes(read("(3,2,1,4):(1,1,0,0)"))), "(4,2,3):(0,1,1)");
  EXPECT_FALSE(equal_extended(read("(4,1):(1,0)"), read("4:1")));
  EXPECT_TRUE(equal(read("(4,1):(1,0)"), read("4:1")));
  EXPECT_TRUE(equal_extended(read("(4,3):(1,4)"), read("7:1")));
}

TEST(Tables, Complement) {
  const struct {
    const char* a;
    int64_t m;
    const char* right;
  } rows[] = {
      {"4:1", 24, "6:4"},
      {"6:4", 24, "4:1"},
      {"(2,2):(1,6)", 24, "(3,2):(2,12)"},
      {"(2,4):(1,6)", 24, "3:2"},
      {"4:2", 24, "(2,3):(1,8)"},
      {"(4,6):(1,4)", 24, "1:0"},
      {"(2,2,2):(1,6,60)", 120, "(3,5):(2,12)"},
      {"((2,2),(2,2)):((8,2),(64,256))", 4096, "(2,2,4,2,8):(1,4,16,128,512)"},
      {"4:2", 8, "2:1"},
      {"4:2", 16, "(2,2):(1,8)"},
      {"1:2", 8, "8:1"},
      {"32:1", 384, "12:32"},
      {"4:2", 19, ""},
      {"(4,2):(1,10)", 40, ""},
      {"(4,6):(1,6)", 36, ""},
      {"(2,2):(2,3)", 19, ""},
      {"4:0", 8, ""},
      {"4:-1", 8, ""},
  };
  for (const auto& row : rows) expect_row(complement(read(row.a), row.m), {row.a, "", row.right});
  EXPECT_EQ(text(complement(read("(2,2,2):(1,6,60)"))), "(3,5):(2,12)");
  // Rounded up, broadcast modes ignored
  EXPECT_EQ(text(complement_padded(read("4:2"), 7)), "2:1");
  EXPECT_EQ(text(complement_padded(read("4:0"), 8)), "8:1");
  EXPECT_EQ(complement_padded(read("4:0"), 8).grade, Grade::padded);
  EXPECT_EQ(text(complement_padded(read("4:2"), 19)), "(2,3):(1,8)");
  EXPECT_EQ(text(complement(read("(4,2):(1,10)"), 40)),
            "no complement: 4*1 = 4 of mode 4:1 does not divide the stride 10 of mode 2:10");
  EXPECT_EQ(text(complement(read("4:2"), 19)), "no complement: 4*2 = 8 of mode 4:2 does not divide 19");
}

TEST(Tables, Division) {
  const Row rows[] = {
      {"24:1", "4:2", "(4,(2,3)):(2,(1,8))"},
      {"19:1", "4:2", "(4,(2,3)):(2,(1,8))"},
      {"(4,2,3):(2,1,8)", "4:2", "((2,2),(2,3)):((4,1),(2,8))"},
      {"(8,8):(1,8)", "32:2", "(32,2):(2,1)"},
      {"(6,6):(1,12)", "(6,3):(3,1)", "(((2,3),3),2):(((3,12),1),36)"},
      {"(64,32):(32,1)", "(4,4):(1,64)", "((4,4),(16,8)):((32,1),(128,4))"},
      {"33:1", "1:1", "(1,33):(1,1)"},
      {"16:1", "4:2", "(4,(2,2)):(2,(1,8))"},
      {"40:1", "(4,2):(1,10)", ""},
      {"36:1", "(4,6):(1,6)", ""},
      {"(4,6):(6,1)", "3:1", ""},
      {"(16,16):(16,1)", "12:1", ""},
      {"(4,6):(6,1)", "4:3", ""},
      {"(12,32):(1,12)", "32:1", "(32,12):(1,32)"},
      {"(12,(4,8)):(7,(1,30))", "128:1", ""},
      {"(12,(4,8)):(7,(1,30))", "12:1", "(12,(4,8)):(7,(1,30))"},
      {"8:1", "4:0", ""},
      {"(12,32):(1,12)", "(4,8):(1,4)", "((4,8),12):((1,4),32)"},
  };
  for (const Row& row : rows) expect_row(divide(read(row.a), read(row.b)), row);
  EXPECT_EQ(divide(read("24:1"), read("4:2")).grade, Grade::exact);
  EXPECT_EQ(divide(read("19:1"), read("4:2")).grade, Grade::padded);
  EXPECT_EQ(text(divide(read("40:1"), read("(4,2):(1,10)"))),
            "lossy: the tile's extent 4 does not divide the stride 10 of its mode 2:10, so 8 indices from 8 "
            "to 39 are missed; strides 4 "
            "and 20 tile");
  // 12 tiles of 32: by mode, and with the tile's own layout over a column-major matrix
  EXPECT_EQ(text(divide_modes(read("(12,32):(1,12)"), read("(4,8):(1,1)"), Form::zipped)),
            "((4,8),(3,4)):((1,12),(4,96))");
}

TEST(Tables, DivisionByMode) {
  EXPECT_EQ(text(divide_modes(read("(9,(4,8)):(59,(13,1))"), read("(3,(2,4)):(3,(1,8))"))),
            "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))");
  EXPECT_EQ(text(divide_modes(read("(64,50,80):(16000,160,1)"), read("(32):(1)"), Form::zipped)),
            "((32),(2,50,80)):((16000),(512000,160,1))");
  EXPECT_EQ(text(divide_modes(read("(8,12):(12,1)"), read("(4,3):(1,1)"), Form::tiled)),
            "((4,3),2,4):((12,1),48,3)");
  EXPECT_EQ(text(divide_modes(read("(8,12):(12,1)"), read("(4,3):(1,1)"), Form::flat)),
            "(4,3,2,4):(12,1,48,3)");
  EXPECT_EQ(divide_modes(read("(8,10):(10,1)"), read("(4,3):(1,1)")).grade, Grade::padded);
  EXPECT_EQ(text(divide_modes(read("(8,40):(1,8)"), read("(2,(4,2)):(1,(1,10))"))).find("mode 1: lossy"), 0u);
  EXPECT_EQ(text(divide(read("24:1"), read("4:2"), Form::tiled)), "(4,2,3):(2,1,8)");
  for (const Form form : {Form::zipped, Form::tiled, Form::flat})
    EXPECT_EQ(divide(read("19:1"), read("4:2"), form).grade, Grade::padded);
  const Layout tile = divide(read("16:1"), read("4:2"), Form::zipped)->mode(0);
  EXPECT_EQ(oracle::values(tile), (std::vector<int64_t>{0, 2, 4, 6}));
}

TEST(Tables, Product) {
  const Row rows[] = {
      {"(2,2):(4,1)", "6:1", "((2,2),(2,3)):((4,1),(2,8))"},
      {"(2,2):(4,1)", "(4,2):(2,1)", "((2,2),(4,2)):((4,1),(8,2))"},
      {"(3,10,10):(200,1,20)", "(2,2):(1,2)", "((3,10,10),(2,2)):((200,1,20),(10,600))"},
      {"(2,5):(5,1)", "4:1", "((2,5),4):((5,1),10)"},
      {"4:0", "3:1", "(4,3):(0,1)"},
      {"(4,2):(1,10)", "2:1", ""},
  };
  for (const Row& row : rows) expect_row(product(read(row.a), read(row.b)), row);
  EXPECT_EQ(text(blocked_product(read("(2,5):(5,1)"), read("(3,4):(1,3)"))), "((2,3),(5,4)):((5,10),(1,30))");
  EXPECT_EQ(text(raked_product(read("(2,5):(5,1)"), read("(3,4):(1,3)"))), "((3,2),(4,5)):((10,5),(30,1))");
  EXPECT_EQ(text(product_modes(read("(2,5):(5,1)"), read("(3,4):(5,6)"))), "((2,3),(5,4)):((5,10),(1,30))");
  EXPECT_EQ(text(product_modes(read("(2,(4,2)):(1,(1,10))"), read("(3,4):(1,1)"))).find("mode 1: no complement"), 0u);
  EXPECT_EQ(text(product(read("(2,5):(5,1)"), read("(3,4):(1,3)"), Form::flat)), "(2,5,3,4):(5,1,10,30)");
}

TEST(Tables, Inverses) {
  const Row right[] = {
      {"(2,3):(3,1)", "", "(3,2):(2,1)"},
      {"(4,8):(8,1)", "", "(8,4):(4,1)"},
      {"(4,2):(1,5)", "", "4:1"},
      {"(4,8):(1,5)", "", "4:1"},
      {"(2,4,6):(4,1,8)", "", "(4,2,6):(2,1,8)"},
      {"4:2", "", "1:0"},
      {"(4,4):(1,1)", "", "4:1"},
      {"(16,7):(1,16)", "", "112:1"},
  };
  for (const Row& row : right) EXPECT_EQ(text(right_inverse(read(row.a))), row.right) << row.a;
  const char* const left[] = {"(4,2):(1,5)", "(4,2):(1,8)",  "(128,160):(65536,1)",
                              "4:2",         "(4,2):(1,16)", "((2,2),(2,2)):((1,4),(8,32))",
                              "(4,8):(8,1)"};
  for (const char* l : left) {
    const Verdict<Layout> inverse = left_inverse(read(l));
    ASSERT_TRUE(inverse.ok()) << l << text(inverse);
    for (int64_t x = 0; x < read(l).size(); ++x) ASSERT_EQ(oracle::value(inverse.value, read(l)(x)), x) << l;
  }
  EXPECT_EQ(text(left_inverse(read("(4,2):(1,5)"))), "(5,2):(1,4)");
  EXPECT_EQ(text(left_inverse(read("(4,2):(1,8)"))), "(8,2):(1,4)");
  EXPECT_EQ(text(left_inverse(read("(128,160):(65536,1)"))), "(65536,128):(128,1)");
  EXPECT_EQ(text(nullspace(read("(4,2,3):(0,1,0)"))), "(4,3):(1,8)");
}

// Offset 15 in rows with gaps: the largest stride takes its digit first, although 6 does not divide 15.
TEST(Tables, OffsetToCoordinate) {
  const Layout nhwc = read("(3,2,3,2):(1,6,15,45)");  // (c, w, h, n)
  EXPECT_EQ(text(left_inverse(nhwc)), "(3,2,5,3):(1,0,3,12)");
  EXPECT_EQ(text(coordinate_of_offset(nhwc, 15)), "(0,0,1,0)");
  EXPECT_EQ(text(coordinate_of_offset(nhwc, 3)), "no coordinate has offset 3: 1 is left over");
  for (int64_t x = 0; x < nhwc.size(); ++x) EXPECT_EQ(nhwc.index(*coordinate_of_offset(nhwc, nhwc(x))), x);
}

TEST(Tables, Vectors) {
  EXPECT_EQ(*max_common_vector(read("(2,3):(1,2)"), read("(2,3):(1,2)")), 6);
  EXPECT_EQ(vector_width(read("(2,3):(1,2)"), read("(2,3):(1,2)"), 4), 2)
      << "a vector of 4 leaves 2 of 6 over";
  EXPECT_EQ(vector_width(read("(128,8):(1,129)"), read("(128,8):(1,128)"), 8), 1)
      << "rows of 129 are misaligned";
  EXPECT_EQ(*max_common_vector(read("(4,8):(1,4)"), read("(4,8):(8,1)")), 1);
}

// ():() is one element; as a mode of another layout it is written 1:0.
TEST(Tables, EmptyLayouts) {
  const Layout empty = read("():()"), four = read("4:1");
  EXPECT_EQ(text(compose(four, empty)), "():()");
  EXPECT_EQ(text(compose(empty, four)), "4:0");
  EXPECT_EQ(text(complement(empty, 8)), "8:1");
  for (const Form form : {Form::logical, Form::zipped, Form::tiled, Form::flat}) {
    EXPECT_EQ(text(divide(four, empty, form)), "(1,4):(0,1)");
    EXPECT_EQ(text(product(empty, four, form)), "(1,4):(0,1)");
    EXPECT_EQ(text(product(four, empty, form)), "(4,1):(1,0)");
    EXPECT_EQ(text(product(empty, empty, form)), "(1,1):(0,0)");
  }
  EXPECT_EQ(text(divide(empty, empty)), "(1,1):(0,0)");
  EXPECT_EQ(text(right_inverse(empty)), "1:0");
  EXPECT_EQ(text(left_inverse(empty)), "1:0");
  EXPECT_TRUE(equal(empty, read("1:5")));
  EXPECT_EQ(empty(0), 0);
}

TEST(Tables, SizeOneModes) {
  EXPECT_EQ(text(to_text(read("(1,(2,2)):(0,(1,2))").coordinate(7))), "(0,(1,1))");
  EXPECT_EQ(read("(1,8):(4611686018427387904,1)").size(), 8) << "a stride that is never taken";
  EXPECT_EQ(read("8:-1").cosize(), 8);
}

TEST(Tables, Recast) {
  EXPECT_EQ(text(recast(read("(8,4):(1,8)"), 16, 32)), "(4,4):(1,4)");
  EXPECT_EQ(text(recast(read("(8,4):(1,8)"), 32, 16)), "(16,4):(1,16)");
  EXPECT_EQ(text(recast(read("(24,4):(1,24)"), 8, 6)), "(32,4):(1,32)");
  EXPECT_EQ(text(recast(read("4:1"), 8, 6)), "cannot recast: mode 0, 16:1, does not split into groups of 3");
  EXPECT_FALSE(recast(read("8:-1"), 8, 32).ok());
  EXPECT_EQ(text(recast(read("(2,2,4):(1,2,4)"), 8, 32)), "(1,1,4):(0,1,1)");
}

TEST(Tables, Swizzles) {
  const Swizzle bytes{3, 4, 3};
  EXPECT_EQ(text(recast(bytes, 8, 16)), "Sw<3,3,3>");
  EXPECT_EQ(text(recast(bytes, 8, 32)), "Sw<3,2,3>");
  EXPECT_EQ(text(recast(Swizzle{3, 1, 3}, 8, 32)),
            "Sw<3,1,3> moves to the base -1: the elements are wider than the swizzle's unit");
  EXPECT_FALSE(recast(bytes, 8, 6).ok());
  // Element swizzle against the byte swizzle on 4-byte elements, at index 32
  EXPECT_EQ(bytes(32), 32);
  EXPECT_EQ((*recast(bytes, 8, 32))(32), 36);
  EXPECT_FALSE(compose(bytes, Swizzle{2, 4, 4}).ok()) << "different shifts are no single swizzle";
  EXPECT_FALSE(compose(Swizzle{3, 0, 3}, Swizzle{1, 2, 1}).ok());
  EXPECT_FALSE(to_swizzle(to_gf2(Swizzle{2, 0, 1}, 4)).ok()) << "its bits overlap: no swizzle, though a matrix";
  EXPECT_TRUE(multiply(to_gf2(Swizzle{3, 0, 3}, 6), to_gf2(Swizzle{1, 2, 1}, 6)).ok());
  EXPECT_EQ(text(compose(bytes, bytes)), "Sw<0,0,0>");
  EXPECT_FALSE(to_gf2(read("(4,4):(1,5)")).ok());
  EXPECT_FALSE(to_gf2(read("(2,2):(1,1)")).ok());
  EXPECT_TRUE(to_gf2(read("(4,4):(4,1)")).ok());
}

TEST(Tables, Permutations) {
  const int64_t counts[][2] = {{2, 1}, {3, 1}, {4, 2}, {6, 3}, {8, 6}, {9, 2}, {12, 14}};
  for (const auto& [n, count] : counts) EXPECT_EQ(count_permutations(n), count) << n;
  EXPECT_EQ(text(prime_list_layout(ints(2, 3), ints(2, 1))), "(3,2):(2,1)");
  EXPECT_EQ(text(prime_list_layout(ints(2, 2, 2), ints(2, 3, 1))), "(2,2,2):(2,4,1)");
  EXPECT_EQ(text(right_inverse(read("(3,2):(2,1)"))), "(2,3):(3,1)");
  const int64_t twice[] = {0, 4, 3, 2, 1, 5};  // (3,2):(2,1) after itself
  EXPECT_EQ(text(recognise(twice, 6)), "not a layout: at index 3 the value is 2 but a layout would have 7");
}

// Layouts as maps between tuples of sizes: which are tractable, what gives them back, how two shapes share their cuts.
TEST(Tables, Tractable) {
  for (const char* l :
       {"((5,5),8):((1,40),5)", "(2,2,2):(1,2,4)", "(4,8):(8,1)", "(4,2):(0,3)", "(2,3):(2,12)", "4:3"})
    EXPECT_TRUE(is_tractable(read(l))) << l;
  for (const char* l : {"(2,2,2):(1,7,4)", "(8,6):(3,16)", "(4,4):(1,2)", "4:-1"})
    EXPECT_FALSE(is_tractable(read(l))) << l;
  EXPECT_EQ(text(prime_list_layout(ints(5, 8, 5), ints(1, 3, 2))), "(5,5,8):(1,40,5)");
  const Verdict<Refinement> r = mutual_refinement(ints(6, 6), ints(2, 6, 6));
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(text(to_text(r->first)), "((2,3),(2,3))");
  EXPECT_EQ(text(to_text(r->second)), "(2,(3,2),(3,2))");
  EXPECT_EQ(text(mutual_refinement(ints(4), ints(6)).reason()),
            "no mutual refinement: of 4 in mode 0 of the first shape and 6 in mode 0 of the second, neither "
            "divides the "
            "other");
  EXPECT_EQ(text(mutual_refinement(ints(4, 3), ints(2, 2)).reason()),
            "no mutual refinement: the second shape ends before 3 in mode 1 of the first");
  // A misprint that is in circulation: the published ((2,3),6):((6,72),1) belongs to (6,6):(6,1).
  const Layout b = read("(12,3,6):(1,72,12)");
  EXPECT_EQ(text(compose(b, read("(6,6):(1,6)"))), "(6,(2,3)):(1,(6,72))");
  EXPECT_EQ(text(compose(b, read("(6,6):(6,1)"))), "((2,3),6):((6,72),1)");
}

TEST(Tables, Text) {
  EXPECT_EQ(text(parse_layout("(4,(2,3):(3,(12,1))")), "column 9: expected ',' or ')'");
  EXPECT_EQ(text(parse_layout("(4,8):(1,4,2)")), "column 7: the stride is not nested like the shape");
  EXPECT_EQ(text(parse_layout("99999999999999999999:1")),
            "column 1: overflow: the number does not fit 64 bits");
  EXPECT_EQ(text(parse_layout("(4294967296,4294967296):(1,1)")),
            "overflow: the size 4294967296 * 4294967296 at mode 1 does not fit 64 bits");
  EXPECT_EQ(text(parse_layout("(0,4):(1,1)")), "column 2: expected a size of at least 1");
  EXPECT_EQ(text(parse_layout("(4,()):(1,())")),
            "column 5: expected a number (an empty tuple inside another is no shape)");
  EXPECT_EQ(text(parse_layout(" ( 4 , 8 ) : ( 1 , 4 ) ")), "(4,8):(1,4)");
  EXPECT_EQ(text(parse_layout("(4,(2,3))")), "(4,(2,3)):(1,(4,8))");
  EXPECT_EQ(text(parse_layout("(32,)")), "(32):(1)");
  EXPECT_EQ(text(parse_composed("Sw<3,3,3>(8,64):(64,1)")), "Sw<3,3,3> o (8,64):(64,1)");
  EXPECT_EQ(text(parse_composed("Sw<3,3,3> o 0 o (8,64):(64,1)")), "Sw<3,3,3> o (8,64):(64,1)");
  EXPECT_EQ(text(parse_composed("Sw<1,0,1> o 9223372036854775807 o 4:1")),
            "overflow: 9223372036854775807 plus the offsets from 0 to 3 does not fit 64 bits");
  EXPECT_EQ(text(parse_composed("Sw<3,3>(8,64):(64,1)")), "column 7: expected a swizzle such as Sw<3,4,3>");
}

TEST(Tables, Slices) {
  const Verdict<Slice> cut =
      slice(read("(4,(2,3)):(3,(12,1))"), *parse_tuple("(-9223372036854775808,(1,-9223372036854775808))"));
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(text(cut.value.layout), "(4,3):(3,1)");
  EXPECT_EQ(cut.value.offset, 12);
  EXPECT_EQ(text(slice(read("(4,(2,3)):(3,(12,1))"), ints(1, all))->layout), "(2,3):(12,1)");
  EXPECT_EQ(slice(read("(4,(2,3)):(3,(12,1))"), ints(1, 5))->offset, 17);
  EXPECT_EQ(text(group(read("(2,3,4):(1,2,6)"), 1, 3)), "(2,(3,4)):(1,(2,6))");
  EXPECT_FALSE(group(read("(2,3,4):(1,2,6)"), 1, 4).ok());
}

}  // namespace
}  // namespace warpfold::layout
