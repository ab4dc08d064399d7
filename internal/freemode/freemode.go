// Package freemode lets a visitor without an account work in a bucket of their own for some hours.
//
// A session is a row whose key is the SHA-256 of the token in the visitor's cookie. The row holds
// the connection, that is, the bucket and its credentials, sealed and bound to the row. It is
// deleted with the row: at logout, on every replica at once, and when the session's time is over.
// Connections to buckets obey the egress policy of free mode only, which differs from that of
// providers; no input of a visitor reaches the built-in store (abuse cases C60 to C65).
//
// Anybody may run the server behind the endpoint. The package bounds the size of its responses, and
// neither passes on nor logs any text from it. Specification: Free-mode session, Free-mode
// endpoints.
package freemode

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"larder/internal/blob/s3"
	"larder/internal/db"
	"larder/internal/egress"
	"larder/internal/fault"
	"larder/internal/ident"
	"larder/internal/provider"
	"larder/internal/secret"
)

// Limits. Specification: Limits.
const (
	MaxHours  = 8       // of a session
	MaxUpload = 1 << 30 // bytes

	sessionsPerAddress = 10 // of an address, with those whose connection is being tested
	maxSessions        = 1000

	sessionsPerNetwork = 50 // of an IPv6 /48

	tokenLength = 43 // characters of base62: 256 bits
	csrfLength  = 32

	testTimeout = 5 * time.Second // of a connection test; one that finds no S3 server always takes this long
	// how long a session counts while its connection is tested or waits for the test, in case the
	// process ends meanwhile
	reservationTime = time.Minute

	// clockSlack is how far the clocks of replicas may differ. A session that would live longer
	// than MaxHours plus clockSlack is not valid: the clock that made it has been set back since.
	clockSlack = time.Hour
)

// Connection is a bucket and the credentials for it.
type Connection struct {
	Type                     string // store_a, store_b: path style; store_c: the bucket in front of the host name
	Endpoint, Region, Bucket string
	AccessKeyID, SecretKey   secret.Text
}

// Session is a session of free mode. Times are in milliseconds.
type Session struct {
	Username             string // fm_ and 10 characters; also the visitor's id
	CSRFToken            string // 32 characters
	Connection           Connection
	Address              string // that started it: an IPv4 address or an IPv6 /64
	CreatedAt, ExpiresAt int64

	hash string
}

// Hours returns the requested length of the session in hours.
func (s Session) Hours() int64 { return (s.ExpiresAt - s.CreatedAt) / time.Hour.Milliseconds() }

// CheckCSRF compares the CSRF token of a write request with the session's, in constant time. Fault:
// InvalidCSRF.
func (s Session) CheckCSRF(token string) error {
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.CSRFToken)) != 1 {
		return fault.New(fault.InvalidCSRF, "The X-CSRF-Token of this session is missing or wrong.")
	}
	return nil
}

// Config holds the dependencies of a Service.
type Config struct {
	DB      *db.DB
	Secrets *secret.Keyring
	Egress  *egress.Policy // with PortAllowed as its Ports
	IDs     *ident.Source
	Now     func() time.Time

	CallWait time.Duration // how long a call of a store waits for its turn, 0 for 10 s
}

// Service manages the sessions of free mode and their access to buckets. All methods are safe for
// concurrent use.
type Service struct {
	Config
	buckets       *s3.Buckets
	transferLimit *operationLimit
	callLimit     *operationLimit // calls of stores other than transfers
}

// New returns a Service. The caller closes it.
func New(cfg Config) *Service {
	return &Service{Config: cfg, buckets: s3.NewBuckets(cfg.Egress), transferLimit: newTransferLimit(),
		callLimit: newCallLimit(cmp.Or(cfg.CallWait, callWait))}
}

// Close closes idle connections.
func (s *Service) Close() { s.buckets.Close() }

// Begin tests a connection to a visitor's bucket and starts a session of 1 to MaxHours hours for a
// visitor at an address (an IPv4 address or an IPv6 /64). token is the value of the visitor's
// cookie; only its hash is stored. Faults: Invalid for a malformed connection or an endpoint that
// must not be reached, RateLimited, ConnectionRefused.
func (s *Service) Begin(ctx context.Context, conn Connection, hours int64,
	address string) (session Session, token secret.Text, err error) {
	if err := s.checkConnection(ctx, &conn); err != nil {
		return Session{}, "", err
	}
	plain := s.IDs.Base62(tokenLength)
	session = Session{Username: "fm_" + s.IDs.Base62(10), CSRFToken: s.IDs.Base62(csrfLength), Connection: conn,
		hash: hash(plain), Address: address}
	if err := s.reserve(ctx, session, address); err != nil {
		return Session{}, "", err
	}
	if err := s.connect(ctx, session); err != nil {
		return Session{}, "", errors.Join(err, s.deleteSession(context.WithoutCancel(ctx), session.hash))
	}
	session.CreatedAt = s.Now().UnixMilli()
	session.ExpiresAt = session.CreatedAt + hours*time.Hour.Milliseconds()
	if err := s.activate(ctx, session); err != nil {
		return Session{}, "", errors.Join(err, s.deleteSession(context.WithoutCancel(ctx), session.hash))
	}
	return session, secret.Text(plain), nil
}

// checkConnection checks a connection by the rules for providers, fills in its defaults, and checks
// its endpoint against the egress policy of free mode, which says which addresses may be reached.
// Fault: Invalid.
func (s *Service) checkConnection(ctx context.Context, conn *Connection) error {
	as := provider.Provider{
		Name: "free mode", Type: conn.Type, Endpoint: conn.Endpoint, Region: conn.Region, Bucket: conn.Bucket,
		AccessKeyID: conn.AccessKeyID, SecretKey: conn.SecretKey,
	}
	if as.Type == provider.BuiltIn { // in free mode this type means path style, too: the local disk is never used
		as.Type = provider.PathStyle
	}
	if err := as.Check(); err != nil {
		return err
	}
	conn.Endpoint, conn.Region = as.Endpoint, as.Region
	endpoint, err := egress.ParseEndpoint(conn.Endpoint)
	if err != nil {
		return err
	}
	// one message for all refusals, so that a visitor cannot find out which names exist in the
	// internal network
	if err := s.Egress.Check(ctx, endpoint); err != nil {
		return fault.InvalidField("endpoint",
			"The endpoint must be a public http(s) address, at a port that object stores use.")
	}
	return nil
}

// connect tests the connection of a session by a request to its store. For any endpoint that is not
// an S3 server, the message and the time are the same, whatever runs there (abuse case C65).
// Faults: ConnectionRefused, RateLimited.
func (s *Service) connect(ctx context.Context, session Session) error {
	bucket, leave, err := s.acquireBucket(ctx, session)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	err = bucket.Check(ctx)
	var refusal s3.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal) && credentialErrors[refusal.Code]:
		return fault.InField(
			fault.New(fault.ConnectionRefused, "The store rejected the access keys or the bucket."), "secretAccessKey")
	}
	<-ctx.Done()
	return fault.InField(
		fault.New(fault.ConnectionRefused, "No S3-compatible store answered at the endpoint within 5 seconds."), "endpoint")
}

// credentialErrors are the S3 error codes for wrong keys, a wrong bucket or a wrong region.
var credentialErrors = map[string]bool{
	"AccessDenied": true, "AllAccessDisabled": true, "AccountProblem": true, "InvalidAccessKeyId": true,
	"SignatureDoesNotMatch": true, "NoSuchBucket": true,
	"InvalidBucketName": true, "AuthorizationHeaderMalformed": true, "RequestTimeTooSkewed": true,
	"PermanentRedirect": true, "InvalidRegion": true,
	"IllegalLocationConstraintException": true, "ExpiredToken": true, "NotSignedUp": true,
	"XAdminUserNotFound": true, // versitygw, for an unknown key
}

// bucket returns the client of the bucket of a connection, without a call to its store. Fault:
// Unavailable.
func (s *Service) bucket(conn Connection) (*s3.Bucket, error) {
	bucket, err := s.buckets.Open(s3.Options{
		Endpoint: conn.Endpoint, Region: conn.Region, Bucket: conn.Bucket, AccessKey: conn.AccessKeyID.Reveal(),
		SecretKey: conn.SecretKey.Reveal(),
		PathStyle: conn.Type != provider.VirtualHost, IDs: s.IDs,
	})
	if err != nil {
		return nil, fault.New(fault.Unavailable, unavailableMessage)
	}
	return bucket, nil
}

// acquireBucket returns the client of the session's bucket and waits for a slot among the calls of
// stores that run at a time. The caller calls leave after the call. Faults: RateLimited,
// Unavailable.
func (s *Service) acquireBucket(ctx context.Context, session Session) (bucket *s3.Bucket, leave func(), err error) {
	if bucket, err = s.bucket(session.Connection); err != nil {
		return nil, nil, err
	}
	if leave, err = s.callLimit.acquire(ctx, session.hash, session.Address); err != nil {
		return nil, nil, err
	}
	return bucket, leave, nil
}

// Authenticate returns the session that the token in a cookie belongs to. Fault: Unauthorized when
// there is none or its time is over.
func (s *Service) Authenticate(ctx context.Context, token string) (Session, error) {
	now := s.Now()
	session, sealed, err := find(s.DB.Read(ctx), hash(token), now.UnixMilli(),
		now.Add(MaxHours*time.Hour+clockSlack).UnixMilli())
	if errors.Is(err, db.ErrNoRows) {
		return Session{}, fault.New(fault.Unauthorized, "The free-mode session has ended. Please connect again.")
	}
	if err != nil {
		return Session{}, fmt.Errorf("look up a free-mode session: %w", err)
	}
	if session.Connection, err = s.unseal(session.hash, sealed); err != nil {
		return Session{}, fmt.Errorf("open a free-mode session: %w", err)
	}
	return session, nil
}

// End ends a session and deletes the visitor's credentials with its row.
func (s *Service) End(ctx context.Context, session Session) error {
	return s.deleteSession(ctx, session.hash)
}

// hash returns the SHA-256 of a token in hexadecimal, under which its session is stored.
func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// sealPurpose is the purpose that connections are sealed for. A connection can only be opened in
// the row of its own session.
const sealPurpose = "free-mode"

// seal encrypts a connection for the row of the session with that hash; no other row can hold it.
// None of its fields contains a line feed, which separates them.
func (s *Service) seal(hash string, p Connection) (string, error) {
	lines := []string{p.Type, p.Endpoint, p.Region, p.Bucket, p.AccessKeyID.Reveal(), p.SecretKey.Reveal()}
	return s.Secrets.Seal(sealPurpose, hash, []byte(strings.Join(lines, "\n")))
}

// unseal decrypts a connection that seal made for the session with that hash.
func (s *Service) unseal(hash, text string) (Connection, error) {
	plain, err := s.Secrets.Open(sealPurpose, hash, text)
	if err != nil {
		return Connection{}, err
	}
	lines := strings.Split(string(plain), "\n")
	if len(lines) != 6 {
		return Connection{}, errors.New("the sealed connection has an unexpected form")
	}
	return Connection{lines[0], lines[1], lines[2], lines[3], secret.Text(lines[4]), secret.Text(lines[5])}, nil
}
