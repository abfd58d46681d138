// Package oracle holds our own validation of manifests to Kubernetes': each manifest of a
// corpus goes to a real kube-apiserver, which only tries it, and to package manifest. Both
// have to take it, or both have to refuse it for the same fields.
//
//	testdata/corpus/*.yaml      manifests, as small patches of one that is sound
//	testdata/differences.yaml   where we differ on purpose, with the reason
//	corpus.go                   makes manifests of patches
//	verdict.go                  what a judge says of a manifest
//	node.go, apiserver.go       the two judges
//	differences.go              what may differ
//
// A file of another kind than Pod begins with a manifest of it that is sound.
//
// A new case is a line in the file of its subject: a name that says what is odd about the
// manifest, and a patch. A null removes a field, and a list replaces the whole of a list. In
// the patch of a pod, words stand for the places that most patches are about:
//
//	meta spec         the pod's own
//	app init eph      its container, an init container, an ephemeral container
//	port env mount device    the first of that container
//	volume            the first volume, which is called v
//	required preferred near  its affinity to nodes, the first preference, and to pods
//
// In a text, ${x*3} is xxx, and ${ca}, ${other}, ${leaf} and ${headers} are certificates.
// No case says what is right: the API server does. A difference that is meant belongs into
// differences.yaml, beside those of the same reason; the test prints it as it has to stand
// there. A difference that is listed and gone fails the test as well.
//
// Ephemeral containers are judged as they are added to a pod that is there.
//
// The API server runs with all of its gates open, as package manifest judges, and without
// the admission plugins that look beyond a manifest. What this node refuses because it does
// not support it is no violation, and is left out.
//
// The programs are built by test/cluster/parts/build.sh.
package oracle
