// Package watch waits for changes of files that others write.
//
//	w := watch.Open("the specs", log)
//	defer w.Close()
//	for {
//		w.Follow(paths...) // which files count by now
//		look()
//		if !w.Await(ctx) {
//			return
//		}
//	}
//
// inotify tells of changes. Events may be lost, and the machine may have no inotify instance left, so Await returns
// twice a minute in any case. The caller compares with what it has seen before.
//
// Start reading at Files in watch.go.
package watch
