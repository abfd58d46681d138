// Package images puts the parts together that pull, keep and remove images.
//
//	            Shelf, for the API
//	  +-----------+-----------+
//	Puller    Collector    registry of the node, if the runtime is its own
//	  +-----------+-----------+
//	           runtime
//
// host/image pulls, gc.Collector removes, and host/registry keeps imported images. None of them knows the others.
//
// Start reading at Shelf in images.go.
package images
