CREATE TABLE products (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    sku         TEXT COLLATE "C" NOT NULL UNIQUE,
    title       TEXT COLLATE "C" NOT NULL,
    folded      TEXT COLLATE "C" NOT NULL,
    price_minor BIGINT NOT NULL CHECK (price_minor >= 0),
    currency    TEXT COLLATE "C" NOT NULL,
    stock       BIGINT NOT NULL CHECK (stock >= 0),
    version     BIGINT NOT NULL
);

CREATE TABLE orders (
    id                 TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name               TEXT COLLATE "C" NOT NULL UNIQUE,
    email              TEXT COLLATE "C" NOT NULL,
    folded             TEXT COLLATE "C" NOT NULL,
    financial_status   TEXT COLLATE "C" NOT NULL CHECK (financial_status IN ('pending', 'paid', 'partially_refunded', 'refunded', 'voided')),
    fulfillment_status TEXT COLLATE "C" NOT NULL CHECK (fulfillment_status IN ('unfulfilled', 'partial', 'fulfilled')),
    cancelled_at       TIMESTAMP,
    currency           TEXT COLLATE "C" NOT NULL,
    total_minor        BIGINT NOT NULL CHECK (total_minor >= 0),
    refunded_minor     BIGINT NOT NULL,
    created_at         TIMESTAMP NOT NULL,
    version            BIGINT NOT NULL,
    CHECK (refunded_minor >= 0 AND refunded_minor <= total_minor)
);
CREATE INDEX orders_by_created ON orders (created_at, id);
CREATE INDEX orders_by_email ON orders (email, created_at, id);

CREATE TABLE order_lines (
    order_id    TEXT COLLATE "C" NOT NULL REFERENCES orders (id),
    position    INTEGER NOT NULL,
    sku         TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    quantity    BIGINT NOT NULL CHECK (quantity > 0),
    price_minor BIGINT NOT NULL CHECK (price_minor >= 0),
    PRIMARY KEY (order_id, position)
);

-- Refunds from before Countersign have no action.
CREATE TABLE refunds (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    order_id     TEXT COLLATE "C" NOT NULL REFERENCES orders (id),
    action_id    TEXT COLLATE "C" UNIQUE REFERENCES actions (id),
    amount_minor BIGINT NOT NULL CHECK (amount_minor > 0),
    refunded_at  TIMESTAMP NOT NULL
);
CREATE INDEX refunds_by_order ON refunds (order_id, refunded_at, id);

CREATE TABLE order_cancellations (
    action_id    TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES actions (id),
    order_id     TEXT COLLATE "C" NOT NULL UNIQUE REFERENCES orders (id),
    restocked    BOOLEAN NOT NULL,
    cancelled_at TIMESTAMP NOT NULL
);

CREATE TABLE stock_movements (
    action_id   TEXT COLLATE "C" NOT NULL REFERENCES actions (id),
    product_id  TEXT COLLATE "C" NOT NULL REFERENCES products (id),
    delta       BIGINT NOT NULL CHECK (delta <> 0),
    stock_after BIGINT NOT NULL CHECK (stock_after >= 0),
    moved_at    TIMESTAMP NOT NULL,
    PRIMARY KEY (action_id, product_id)
);
CREATE INDEX stock_movements_by_product ON stock_movements (product_id, moved_at, action_id);
