// Package review asks a Kubernetes cluster whose a token is and what its holder may do,
// and remembers the answers for a while. A remembered answer counts while the API server
// is away; without one, the request is refused.
package review

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/rest"
)

// For how many questions answers are kept.
const remembered = 8192

// patience bounds a question: somebody waits for the answer.
const patience = 10 * time.Second

// Memory says how long answers count.
type Memory struct{ Token, Allowed, Denied time.Duration }

// Reviewer asks one cluster.
type Reviewer struct {
	client  rest.Interface
	memory  Memory
	answers *cache.LRUExpireCache // by the digest of the question
}

// New returns a reviewer that has asked nothing yet.
func New(api *rest.Config, memory Memory) (*Reviewer, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // which errors are
	c := rest.CopyConfig(api)
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server: %w", err)
	}
	return &Reviewer{client: client, memory: memory, answers: cache.NewLRUExpireCache(remembered)}, nil
}

// Owner returns the user of a token, and false if the token is unknown.
func (r *Reviewer) Owner(ctx context.Context, token string) (authenticationv1.UserInfo, bool, error) {
	review := &authenticationv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "TokenReview"},
		Spec:     authenticationv1.TokenReviewSpec{Token: token},
	}
	err := r.ask(ctx, "/apis/authentication.k8s.io/v1/tokenreviews", review, func() time.Duration { return r.memory.Token })
	return review.Status.User, review.Status.Authenticated, err
}

// Access is the question of a SubjectAccessReview. Kubernetes' own type would add a fifth
// of a megabyte of methods that are not called here.
type Access struct {
	User     string              `json:"user,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	UID      string              `json:"uid,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
	Resource Resource            `json:"resourceAttributes"`
}

// Resource names what a caller wants to reach, and how.
type Resource struct {
	Verb        string `json:"verb"`
	Version     string `json:"version,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Name        string `json:"name,omitempty"`
}

type accessReview struct {
	metav1.TypeMeta `json:",inline"`
	Spec            Access `json:"spec"`
	Status          struct {
		Allowed bool `json:"allowed"`
		Denied  bool `json:"denied"`
	} `json:"status"`
}

// May says whether somebody may do something.
func (r *Reviewer) May(ctx context.Context, access Access) (bool, error) {
	review := &accessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Spec:     access,
	}
	err := r.ask(ctx, "/apis/authorization.k8s.io/v1/subjectaccessreviews", review, func() time.Duration {
		if review.Status.Allowed {
			return r.memory.Allowed
		}
		return r.memory.Denied
	})
	return review.Status.Allowed && !review.Status.Denied, err
}

// ask fills in a review, from memory if it was answered before. It asks good for the
// lifetime of the answer once that is there.
func (r *Reviewer) ask(ctx context.Context, path string, review any, good func() time.Duration) error {
	question, err := json.Marshal(review)
	if err != nil {
		return err
	}
	key := sha256.Sum256(question) // which is no token
	known, ok := r.answers.Get(key)
	if ok {
		return json.Unmarshal(known.([]byte), review)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := r.client.Post().AbsPath(path).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(question).Do(ctx).Raw()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, review); err != nil {
		return fmt.Errorf("read the API server's answer: %w", err)
	}
	r.answers.Add(key, answer, good())
	return nil
}
