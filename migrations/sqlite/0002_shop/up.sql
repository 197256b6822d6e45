CREATE TABLE products (
    id          TEXT    NOT NULL PRIMARY KEY,
    sku         TEXT    NOT NULL UNIQUE,
    title       TEXT    NOT NULL,
    folded      TEXT    NOT NULL,
    price_minor INTEGER NOT NULL CHECK (price_minor >= 0),
    currency    TEXT    NOT NULL,
    stock       INTEGER NOT NULL CHECK (stock >= 0),
    version     INTEGER NOT NULL
) STRICT;

CREATE TABLE orders (
    id                 TEXT    NOT NULL PRIMARY KEY,
    name               TEXT    NOT NULL UNIQUE,
    email              TEXT    NOT NULL,
    folded             TEXT    NOT NULL,
    financial_status   TEXT    NOT NULL CHECK (financial_status IN ('pending', 'paid', 'partially_refunded', 'refunded', 'voided')),
    fulfillment_status TEXT    NOT NULL CHECK (fulfillment_status IN ('unfulfilled', 'partial', 'fulfilled')),
    cancelled_at       TEXT,
    currency           TEXT    NOT NULL,
    total_minor        INTEGER NOT NULL CHECK (total_minor >= 0),
    refunded_minor     INTEGER NOT NULL,
    created_at         TEXT    NOT NULL,
    version            INTEGER NOT NULL,
    CHECK (refunded_minor >= 0 AND refunded_minor <= total_minor)
) STRICT;
CREATE INDEX orders_by_created ON orders (created_at, id);
CREATE INDEX orders_by_email ON orders (email, created_at, id);

CREATE TABLE order_lines (
    order_id    TEXT    NOT NULL REFERENCES orders (id),
    position    INTEGER NOT NULL,
    sku         TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    quantity    INTEGER NOT NULL CHECK (quantity > 0),
    price_minor INTEGER NOT NULL CHECK (price_minor >= 0),
    PRIMARY KEY (order_id, position)
) STRICT;

-- Refunds from before Countersign have no action.
CREATE TABLE refunds (
    id           TEXT    NOT NULL PRIMARY KEY,
    order_id     TEXT    NOT NULL REFERENCES orders (id),
    action_id    TEXT    UNIQUE REFERENCES actions (id),
    amount_minor INTEGER NOT NULL CHECK (amount_minor > 0),
    refunded_at  TEXT    NOT NULL
) STRICT;
CREATE INDEX refunds_by_order ON refunds (order_id, refunded_at, id);

CREATE TABLE order_cancellations (
    action_id    TEXT    NOT NULL PRIMARY KEY REFERENCES actions (id),
    order_id     TEXT    NOT NULL UNIQUE REFERENCES orders (id),
    restocked    INTEGER NOT NULL CHECK (restocked IN (0, 1)),
    cancelled_at TEXT    NOT NULL
) STRICT;

CREATE TABLE stock_movements (
    action_id   TEXT    NOT NULL REFERENCES actions (id),
    product_id  TEXT    NOT NULL REFERENCES products (id),
    delta       INTEGER NOT NULL CHECK (delta <> 0),
    stock_after INTEGER NOT NULL CHECK (stock_after >= 0),
    moved_at    TEXT    NOT NULL,
    PRIMARY KEY (action_id, product_id)
) STRICT;
CREATE INDEX stock_movements_by_product ON stock_movements (product_id, moved_at, action_id);
