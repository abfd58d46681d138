package kms

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	kmsapi "k8s.io/kms/apis/v2"
)

// annotation is one that the plugin wants back, as those do that keep a local key.
const annotation = "made-by.kms.example.com"

// Plugin encrypts data keys with a key that follows from its seed and the ID of the key: the same plugin can be made again.
type Plugin struct {
	kmsapi.UnimplementedKeyManagementServiceServer
	Socket string
	Seed   string

	mu      sync.Mutex
	server  *grpc.Server
	keyID   string
	retired map[string]bool
	calls   map[string]int
	hold    chan struct{} // Encrypt waits for its end; nil lets it through
	change  func(*kmsapi.StatusResponse)
}

// New returns a plugin that is not served yet.
func New(socket, seed, keyID string) *Plugin {
	return &Plugin{Socket: socket, Seed: seed, keyID: keyID, retired: map[string]bool{}, calls: map[string]int{}}
}

// Start serves the plugin on its socket.
func (p *Plugin) Start() error {
	if err := os.RemoveAll(p.Socket); err != nil {
		return fmt.Errorf("serve the KMS plugin: %w", err)
	}
	listener, err := net.Listen("unix", p.Socket)
	if err != nil {
		return fmt.Errorf("serve the KMS plugin: %w", err)
	}
	server := grpc.NewServer()
	kmsapi.RegisterKeyManagementServiceServer(server, p)
	p.mu.Lock()
	p.server = server
	p.mu.Unlock()
	go func() { _ = server.Serve(listener) }() // it ends with Stop
	return nil
}

// Stop ends the plugin and removes its socket.
func (p *Plugin) Stop() {
	p.mu.Lock()
	server := p.server
	p.server = nil
	p.mu.Unlock()
	if server != nil {
		server.Stop()
	}
}

// Use has the plugin encrypt with another key. It still decrypts with those before.
func (p *Plugin) Use(keyID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keyID = keyID
}

// Retire has the plugin forget a key.
func (p *Plugin) Retire(keyID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired[keyID] = true
}

// Answer changes the answers to Status; nil ends that.
func (p *Plugin) Answer(change func(*kmsapi.StatusResponse)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change = change
}

// Hold lets Encrypt wait until the returned function is called.
func (p *Plugin) Hold() (release func()) {
	held := make(chan struct{})
	p.mu.Lock()
	p.hold = held
	p.mu.Unlock()
	return sync.OnceFunc(func() {
		p.mu.Lock()
		p.hold = nil
		p.mu.Unlock()
		close(held)
	})
}

// Calls returns how often a method was called.
func (p *Plugin) Calls(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[method]
}

// called counts a call, and returns the present key.
func (p *Plugin) called(method string) (keyID string, hold chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[method]++
	return p.keyID, p.hold
}

// Status implements the interface of plugins.
func (p *Plugin) Status(context.Context, *kmsapi.StatusRequest) (*kmsapi.StatusResponse, error) {
	keyID, _ := p.called("Status")
	answer := &kmsapi.StatusResponse{Version: "v2", Healthz: "ok", KeyId: keyID}
	p.mu.Lock()
	change := p.change
	p.mu.Unlock()
	if change != nil {
		change(answer)
	}
	return answer, nil
}

// Encrypt implements the interface of plugins.
func (p *Plugin) Encrypt(ctx context.Context, r *kmsapi.EncryptRequest) (*kmsapi.EncryptResponse, error) {
	keyID, hold := p.called("Encrypt")
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	aead, err := p.cipher(keyID)
	if err != nil {
		return nil, err
	}
	return &kmsapi.EncryptResponse{
		Ciphertext: aead.Seal(nil, nil, r.GetPlaintext(), []byte(keyID)), KeyId: keyID,
		Annotations: map[string][]byte{annotation: []byte(p.Seed)},
	}, nil
}

// Decrypt implements the interface of plugins.
func (p *Plugin) Decrypt(_ context.Context, r *kmsapi.DecryptRequest) (*kmsapi.DecryptResponse, error) {
	p.called("Decrypt")
	p.mu.Lock()
	gone := p.retired[r.GetKeyId()]
	p.mu.Unlock()
	if gone || !bytes.Equal(r.GetAnnotations()[annotation], []byte(p.Seed)) {
		return nil, status.Errorf(codes.InvalidArgument, "key %q is not known here", r.GetKeyId())
	}
	aead, err := p.cipher(r.GetKeyId())
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nil, r.GetCiphertext(), []byte(r.GetKeyId()))
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, "it was not encrypted here")
	}
	return &kmsapi.DecryptResponse{Plaintext: plain}, nil
}

func (p *Plugin) cipher(keyID string) (cipher.AEAD, error) {
	key := sha256.Sum256([]byte(p.Seed + "\x00" + keyID))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
