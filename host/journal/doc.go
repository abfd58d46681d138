// Package journal keeps store.Record values in files, one file a record, so that
// they survive a crash of the process, of the machine, and a full disk.
//
//	<dir>/lock                       held by the one process that may write here
//	<dir>/ballast                    space given up so that deletions fit on a full disk
//	<dir>/transactions/spare-3       the same, for a record to be written over
//	<dir>/records/pods/default_web.rec        the record
//	<dir>/records/pods/default_web.rec.prev   the generation before it
//	<dir>/records/pods/default_web.rec.7.tmp  the generation to be (staged)
//	<dir>/transactions/7.txn         the decision to take all that is staged as 7
//	<dir>/quarantine/...             unreadable files, kept for people
//
// One record is written whole: stage a file, sync it, link the current
// generation to .prev, rename the staged file over it, sync the directory. The
// rename is the commit point. The current file is never absent in between, so a
// .prev without one can only mean that the record was deleted.
//
// Several records go through a transaction: all of them are staged first, and
// then one small file that lists them is renamed into place; that is the commit
// point. Everything that needs space happens before it, so what is left are
// renames and removals, and these can be repeated: a staged file that is gone
// has been taken already. A transaction that could not be finished stays
// pending, and no later commit touches its records before it is settled, so a
// transaction that is repeated after a crash never overwrites anything newer.
//
// The package does not know the content of a record, keeps none of them in memory,
// and decides nothing about a record that it had to quarantine: Load reports it.
//
// Start reading at Journal.commit, then transaction.go.
package journal
