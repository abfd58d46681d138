// Package arch holds the shape of the code base as tests: which package may import
// which (imports_test.go), where programs live (mains_test.go), which packages are
// pure (purity_test.go), which files tell actions apart (actions_test.go), what every
// package has to look like (habits_test.go), how comments are written
// (english_test.go), which package writes the node's offer (offer_test.go), and that
// what guards the API knows all of it (image_test.go). Each rule states its reason.
//
// Most rules are functions over a parsed tree (tree_test.go), so each is tried
// on a tree that breaks it as well as on ours.
package arch
