// Package surplus finds what JSON says beyond the Go type that it is decoded into, and
// adds it again when the value is encoded.
//
//	over, err := surplus.NewFinder().Of(data, reflect.TypeFor[Slot]())   // a newer agent has written data
//	...                                                     // the slot changes
//	data, err = over.AddTo(data)                            // the newer agent finds its own again
//
// Surplus belongs to the value that it was said of. It is added where that value still is:
// under the same field or key, and in a list beside the element of the same name. A value
// that was taken away, or replaced by another, takes its surplus along.
//
//	of.go   finds it
//	add.go  adds it
//
// The package knows no record: it works on JSON and types.
package surplus
