// Package method reads from the protos what each method of the API is: the right that
// a caller needs, the listeners that serve it, its paths and their parameters.
//
//	api/proto ── option (node.v1.right), (node.v1.listeners), (node.v1.scope), (google.api.http)
//	    │
//	   All ──▶ Rights, Scopes: what the interceptors ask for
//	      ──▶ Paths:  what is routed, and which names a query may hold
//
// A method that states no right, no listeners or no scope is an error, and the agent does not
// start with it. Nothing is derived from a method's name or its HTTP verb.
//
// Start reading at All in method.go.
package method
