// Package arch holds the shape of the code base as tests: who may import whom
// (imports_test.go), where programs live (mains_test.go), which packages are pure (purity_test.go), what every
// package has to look like (habits_test.go), and that what guards the API knows
// all of it (image_test.go). Each rule says why it is there.
//
// Most rules are functions over a parsed tree (tree_test.go), so each is tried
// on a tree that breaks it as well as on ours.
package arch
