// Package storage binds PersistentVolumeClaims to PersistentVolumes, and decides what
// happens to both when one of them goes.
//
//	claim ──▶ the smallest posted volume that fits
//	      ──▶ or, of the node's own class, a directory that the node makes
//	gone  ──▶ its volume is Released: kept, or given back where its policy says Delete
//
// Nothing here runs by itself. A transaction that changes something calls Settle with all
// claims and volumes, and gets the changes that have to follow; whatever is settled stays
// as it is. A volume that has to be deleted stays in the journal until its files are gone,
// so no data depends on a lost record.
//
// Start reading at Keeper.Settle.
package storage
