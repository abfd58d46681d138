// Package neighbour reads from other nodes what the dashboard of this one shows of them.
//
//	contexts file ──▶ Book ──▶ GET below /v1/ of one of its nodes, with the token that stands beside it
//
// The file is one of kubelet context: the names, URLs, authorities and tokens of nodes. It is read again when it changes.
// A caller names a node and a path, never an address. The token has to be a viewer's, which is looked at before the first
// request: every user of this node's dashboard sees by it. No redirect is followed, and no other than the node's own
// authority is trusted, if the file has one.
//
// Start reading at Book.Get.
package neighbour
