// Package arch checks the shape of the code base in tests:
//
//	imports_test.go   which packages a package may import
//	mains_test.go     where programs live
//	purity_test.go    which packages are pure
//	actions_test.go   which files switch on the types of actions
//	habits_test.go    what every package has
//	english_test.go   how comments are written
//	offer_test.go     which package writes the node's offer
//	image_test.go     the saved image of the API is complete
//
// Each rule states its reason. Most rules are functions over a parsed tree (tree_test.go), so each
// is tested on a tree that breaks it too.
package arch
