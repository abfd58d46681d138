// Package storage brings PersistentVolumeClaims and PersistentVolumes together,
// and says what becomes of both when one of them goes.
//
//	claim ──▶ the smallest posted volume that fits
//	      ──▶ or, of the node's own class, a directory that the node makes
//	gone  ──▶ its volume is Released: kept, or given back where its policy says Delete
//
// Nothing here runs by itself. Settle is called in the transaction that changed
// something, with all that there is, and returns what has to change with it; what
// is settled already stays as it is. Nothing is forgotten before it is given
// back: a volume that has to be deleted stays in the journal until the files are
// gone, so a record that was lost never costs anybody's data.
//
// Start reading at Keeper.Settle.
package storage
