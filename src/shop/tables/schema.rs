//! The columns of the shop's tables, the same on both backends; `migrations/` has the constraints.

diesel::table! {
    products (id) {
        id -> Text,
        sku -> Text,
        title -> Text,
        folded -> Text,
        price_minor -> BigInt,
        currency -> Text,
        stock -> BigInt,
        version -> BigInt,
    }
}

diesel::table! {
    orders (id) {
        id -> Text,
        name -> Text,
        email -> Text,
        folded -> Text,
        financial_status -> Text,
        fulfillment_status -> Text,
        cancelled_at -> Nullable<Timestamp>,
        currency -> Text,
        total_minor -> BigInt,
        refunded_minor -> BigInt,
        created_at -> Timestamp,
        version -> BigInt,
    }
}

diesel::table! {
    order_lines (order_id, position) {
        order_id -> Text,
        position -> Integer,
        sku -> Text,
        name -> Text,
        quantity -> BigInt,
        price_minor -> BigInt,
    }
}

diesel::table! {
    refunds (id) {
        id -> Text,
        order_id -> Text,
        action_id -> Nullable<Text>,
        amount_minor -> BigInt,
        refunded_at -> Timestamp,
    }
}

diesel::table! {
    order_cancellations (action_id) {
        action_id -> Text,
        order_id -> Text,
        restocked -> Bool,
        cancelled_at -> Timestamp,
    }
}

diesel::table! {
    stock_movements (action_id, product_id) {
        action_id -> Text,
        product_id -> Text,
        delta -> BigInt,
        stock_after -> BigInt,
        moved_at -> Timestamp,
    }
}
