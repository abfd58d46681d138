// Package manifest turns bytes from a client into pods that this node can run, and
// objects that pods use, or into the exact reasons why it cannot. It is pure: no I/O,
// no clock.
//
//	bytes ── documents ── strict decode ── Default ── rules.Pod ──▶ []Doc
//	            │               │                         │
//	            └───────────────┴────── violations ───────┴──▶ *node.InvalidError
//
// A bundle is one or more YAML or JSON documents; each is a v1 Pod, an object that
// pods use (kinds.go), or a list of such. Decoding is strict, because a node has no
// controller behind it that would notice a dropped "imagee". An unknown field, a
// duplicate key or a wrong type is an error that names the document, the object and
// the field. All violations of a bundle are reported together, so that one round trip
// is enough to repair it.
//
// Defaults, and the rules of node/manifest/rules, are those of Kubernetes' API server,
// which a node on its own does not have in front of it. Features that the API server
// keeps behind alpha gates are judged as if the gate were open; whether this node
// honours a field is a question for its capabilities, not for the manifest.
//
// A violation also says what to do: syntax.go finds the line at which YAML breaks and
// names the slip, quantity.go the quantity that was meant, nearest.go the field, and
// foreign.go what to post in the place of a Deployment, a Compose file or a "pod".
// server/testdata/inputs.txt shows the answers.
//
// Besides reading, the package answers what a change of manifest means for the pod
// that runs (Change), names what runs (HashIn, PodHash) and turns a pod from
// a file or URL into a static pod (Static).
//
// Start reading at [Decode], then [Default]; kinds.go lists what else than pods is read.
package manifest
