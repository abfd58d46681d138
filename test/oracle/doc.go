// Package oracle compares our validation of manifests with Kubernetes'. Each manifest of a corpus
// goes to a real kube-apiserver as a dry run, and to package manifest. Both must accept it, or both
// must refuse it for the same fields.
//
//	testdata/corpus/*.yaml      manifests, as small patches of a valid one
//	testdata/differences.yaml   where we differ on purpose, with the reason
//	corpus.go                   makes manifests from patches
//	verdict.go                  a judge's answer to a manifest
//	node.go, apiserver.go       the two judges
//	differences.go              the differences that are allowed
//
// A new case is a line in the file of its subject: a name that says what is special about the
// manifest, and a patch. A null removes a field, and a list replaces the whole list. In the patch
// of a pod, words stand for common places:
//
//	meta spec         the pod's own
//	app init eph      its container, an init container, an ephemeral container
//	port env mount device    the first of that container
//	volume            the first volume, which is called v
//	required preferred near  its affinity to nodes, the first preference, and to pods
//
// In a text, ${x*3} is xxx, and ${ca}, ${other}, ${leaf} and ${headers} are certificates. Cases do
// not contain a verdict: the API server decides. An intended difference belongs into
// differences.yaml, beside those with the same reason; the test prints it in the file's format. The
// test also fails for a listed difference that no longer exists.
//
// The file of another kind than Pod begins with a valid manifest of that kind.
//
// Ephemeral containers are judged as they are added to an existing pod.
//
// The API server runs with all feature gates open, as package manifest judges, and without the
// admission plugins that look beyond a manifest. A field that this node does not support is not a
// violation, and is left out.
//
// test/cluster/parts/build.sh builds the programs.
package oracle
