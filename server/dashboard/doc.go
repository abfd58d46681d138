// Package dashboard serves the dashboard's files and signs browsers in.
//
//	page.go     files, without authentication: they hold no data of the node
//	session.go  sign in with a code or a token, sign out, show the signed-in user
//
// It knows no route of the API. The page's own requests are routed and authorized like any
// other.
//
// Start reading at Front in page.go.
package dashboard
